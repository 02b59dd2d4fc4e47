"""Recognises files with keys by their names, in any folder: the rows of `KEY_NAMES`, and copies that editors and people
make of such files."""

import re
from typing import Final

from tools.patterns import late
from tools.protected.key_tables import KEY_NAMES, SAMPLE_FILE_ENDINGS, KeyName

_COPY_NAME_PATTERN: Final = late(r"#?(?P<name>.+?)(?:#|~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-p]))+")


def _name_regex_of_row(row: KeyName) -> str:
    """Returns a regular expression for the file names that a row of the table means."""
    sample = "".join(f"(?<!{ending})" for ending in SAMPLE_FILE_ENDINGS) if row.has_samples else ""
    return f".*{sample}".join(map(re.escape, row.name.casefold().split("*")))


_EXACT_KEY_NAMES: Final = frozenset(row.name.casefold() for row in KEY_NAMES if "*" not in row.name)
_KEY_NAME_ENDINGS: Final = tuple(
    row.name[1:].casefold() for row in KEY_NAMES if row.name.startswith("*") and not row.has_samples
)
_KEY_NAME_PATTERN: Final = late(
    "|".join(
        _name_regex_of_row(row)
        for row in KEY_NAMES
        if "*" in row.name and row.name[1:].casefold() not in _KEY_NAME_ENDINGS
    ),
    re.DOTALL,
)


def is_key_name(name: str) -> bool:
    """Whether a file of this name has keys, in any spelling of case."""
    name = name.casefold()
    copy = _COPY_NAME_PATTERN.fullmatch(name)
    if copy is None:
        return _matches_key_row(name)
    return _matches_key_row(copy["name"]) or _matches_key_row(copy["name"].removeprefix("."))


def _matches_key_row(name: str) -> bool:
    return (
        name in _EXACT_KEY_NAMES
        or name.endswith(_KEY_NAME_ENDINGS)
        or _KEY_NAME_PATTERN.fullmatch(name) is not None
    )
