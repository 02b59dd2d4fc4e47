"""Defines the version of the extension API and checks it against a declared range."""

from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

API_VERSION = "1.0"
"""The first number rises when something that worked stops working, the second when something is added."""

_VERSION_CLAUSE_PATTERN = lazy_regex(r"\s*(>=|<=|==|!=|~=|>|<)?\s*(\d+(?:\.\d+)*)(?:\.\*)?\s*\Z")


class IncompatibleApiVersion(UserError):
    """The extension was written for another version of the API."""


def require_api_version(declared: str, version: str = API_VERSION) -> None:
    """Raises `IncompatibleApiVersion` unless `version` is in the declared range (`>=1,<2`). An empty range includes
    every version."""
    for clause in declared.split(",") if declared.strip() else []:
        match = _VERSION_CLAUSE_PATTERN.match(clause)
        if match is None:
            raise IncompatibleApiVersion(
                f"its API version range {declared!r} is not valid; write for example '>=1,<2'"
            )
        if not _satisfies(version, match[1] or "==", match[2]):
            raise IncompatibleApiVersion(
                f"it needs version {declared} of the extension API, but this bayou has {version}"
            )


def _satisfies(version: str, relation: str, wanted: str) -> bool:
    length = max(version.count("."), wanted.count(".")) + 1
    have, want = _version_numbers(version, length), _version_numbers(wanted, length)
    match relation:
        case ">=":
            return have >= want
        case "<=":
            return have <= want
        case ">":
            return have > want
        case "<":
            return have < want
        case "!=":
            return have != want
        case "~=":
            return have >= want and have[: max(1, wanted.count("."))] == want[: max(1, wanted.count("."))]
        case _:
            count = wanted.count(".") + 1
            return have[:count] == want[:count]


def _version_numbers(version: str, length: int) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in version.split("."))
    return numbers + (0,) * (length - len(numbers))
