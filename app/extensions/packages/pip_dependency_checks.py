"""Checks the dependencies of a Python distribution before fetching: they must be names of the index, never
addresses.

pip would follow `name @ address` in a distribution's metadata, and build what it finds there.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.extensions.packages.package_contents import PackageError

RunPipReport = Callable[[Sequence[str]], str]
"""Returns pip's report of the distributions that it would install for some requirements, without their
dependencies."""
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_DEPENDENCY_RESOLVE_ROUNDS = 30


def require_dependencies_from_index(source: str, first: str, tell: RunPipReport) -> None:
    """Raises `PackageError` when the distribution or a dependency would be fetched from an address."""
    waiting, seen = [first], {_requirement_name(first)}
    for _ in range(_MAX_DEPENDENCY_RESOLVE_ROUNDS):
        if not waiting:
            return
        found = [needed for item in _report_items(tell(waiting)) for needed in _dependencies(source, item)]
        waiting = [needed for needed in dict.fromkeys(found) if _requirement_name(needed) not in seen]
        seen.update(map(_requirement_name, waiting))
    raise PackageError(f"{source} has more dependencies than bayou checks")


def require_installed_dependencies_from_index(source: str, place: Path) -> None:
    """Checks that the dependencies of installed distributions are names of the index, because pip may have chosen
    other versions in the end. Raises `PackageError`."""
    for file in place.glob("*.dist-info/direct_url.json"):
        raise PackageError(
            f"{source} would install {file.parent.name.partition('-')[0]} from an address instead of "
            "the package index"
        )


def _report_items(report: str) -> list[dict[str, Any]]:
    try:
        return [item["metadata"] for item in json.loads(report)["install"]]
    except (ValueError, KeyError, TypeError):
        raise PackageError("pip did not report what it would install; update pip and try again") from None


def _dependencies(source: str, metadata: dict[str, Any]) -> list[str]:
    """Returns the dependencies of a distribution, without those of extras."""
    needed: list[str] = []
    for requirement in metadata.get("requires_dist") or ():
        wanted, _, condition = str(requirement).partition(";")
        if re.search(r"\bextra\b", condition):
            continue
        if "@" in wanted or not _NAME_PATTERN.match(wanted):
            raise PackageError(
                f"{source}: {metadata.get('name')} depends on {wanted.strip()}, which is not a name on "
                "the package index. Nothing was downloaded."
            )
        needed.append(str(requirement))
    return needed


def _requirement_name(requirement: str) -> str:
    match = _NAME_PATTERN.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else requirement
