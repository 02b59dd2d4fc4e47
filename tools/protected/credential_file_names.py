"""Recognises files with keys by their names, in any folder: the rows of `CREDENTIAL_FILE_NAMES`, and copies that
editors and people make of such files."""

import re
from typing import Final

from tools.lazy_patterns import lazy_regex
from tools.protected.credential_tables import (
    CREDENTIAL_FILE_NAMES,
    SAMPLE_CREDENTIAL_FILE_ENDINGS,
    CredentialFileName,
)

_BACKUP_FILE_NAME_PATTERN: Final = lazy_regex(
    r"#?(?P<name>.+?)(?:#|~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-p]))+"
)


def _name_regex_of_row(row: CredentialFileName) -> str:
    """Returns a regular expression for the file names that a row of the table means."""
    sample = "".join(f"(?<!{ending})" for ending in SAMPLE_CREDENTIAL_FILE_ENDINGS) if row.has_samples else ""
    return f".*{sample}".join(map(re.escape, row.name.casefold().split("*")))


_EXACT_CREDENTIAL_FILE_NAMES: Final = frozenset(
    row.name.casefold() for row in CREDENTIAL_FILE_NAMES if "*" not in row.name
)
_CREDENTIAL_FILE_NAME_ENDINGS: Final = tuple(
    row.name[1:].casefold()
    for row in CREDENTIAL_FILE_NAMES
    if row.name.startswith("*") and not row.has_samples
)
_CREDENTIAL_FILE_NAME_PATTERN: Final = lazy_regex(
    "|".join(
        _name_regex_of_row(row)
        for row in CREDENTIAL_FILE_NAMES
        if "*" in row.name and row.name[1:].casefold() not in _CREDENTIAL_FILE_NAME_ENDINGS
    ),
    re.DOTALL,
)


def is_credential_file_name(name: str) -> bool:
    """Whether a file of this name has keys, in any spelling of case."""
    name = name.casefold()
    copy = _BACKUP_FILE_NAME_PATTERN.fullmatch(name)
    if copy is None:
        return _matches_key_row(name)
    return _matches_key_row(copy["name"]) or _matches_key_row(copy["name"].removeprefix("."))


def _matches_key_row(name: str) -> bool:
    return (
        name in _EXACT_CREDENTIAL_FILE_NAMES
        or name.endswith(_CREDENTIAL_FILE_NAME_ENDINGS)
        or _CREDENTIAL_FILE_NAME_PATTERN.fullmatch(name) is not None
    )
