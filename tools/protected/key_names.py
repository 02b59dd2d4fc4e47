"""Recognises files with keys by their names, in any folder: the rows of `KEY_NAMES`, and copies that editors and people
make of such files."""

import re
from typing import Final

from tools.patterns import late
from tools.protected.keys import KEY_NAMES, SAMPLE_ENDINGS, KeyName

_COPY: Final = late(r"#?(?P<name>.+?)(?:#|~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-p]))+")


def _form(row: KeyName) -> str:
    """Returns a regular expression for the file names that a row of the table means."""
    sample = "".join(f"(?<!{ending})" for ending in SAMPLE_ENDINGS) if row.has_samples else ""
    return f".*{sample}".join(map(re.escape, row.name.casefold().split("*")))


_EXACT: Final = frozenset(row.name.casefold() for row in KEY_NAMES if "*" not in row.name)
_ENDINGS: Final = tuple(
    row.name[1:].casefold() for row in KEY_NAMES if row.name.startswith("*") and not row.has_samples
)
_FORMS: Final = late(
    "|".join(_form(row) for row in KEY_NAMES if "*" in row.name and row.name[1:].casefold() not in _ENDINGS),
    re.DOTALL,
)


def is_key_name(name: str) -> bool:
    """Whether a file of this name has keys, in any spelling of case."""
    name = name.casefold()
    copy = _COPY.fullmatch(name)
    if copy is None:
        return _has_keys(name)
    return _has_keys(copy["name"]) or _has_keys(copy["name"].removeprefix("."))


def _has_keys(name: str) -> bool:
    return name in _EXACT or name.endswith(_ENDINGS) or _FORMS.fullmatch(name) is not None
