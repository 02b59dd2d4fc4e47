"""Finds files that a search skips because reading them needs permission, and words the notice.

The notice never depends on the content of such a file, not even on whether it would match."""

from collections.abc import Callable
from typing import Final

from tools.searching.ripgrep import DEFAULT_RIPGREP_ARGUMENTS, run_ripgrep
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import one_line

_MAX_WITHHELD_FILES_NAMED: Final = 3


def make_withheld_file_test(
    workspace: SessionWorkspace, folder: str, *, is_named: bool = False
) -> Callable[[str], bool]:
    """Returns a function that says whether a path relative to `folder` must be left out of a search. `is_named`:
    the search is for a single file, which was already judged by its name."""
    if is_named:
        return lambda path: False
    is_kept_back = workspace.hidden_path_test()
    real = workspace.files.real_path(folder).rstrip("/")
    return lambda path: is_kept_back(f"{real}/{path}")


async def find_withheld_files_notice(
    workspace: SessionWorkspace,
    rg: str,
    places: tuple[str, ...],
    folder: str,
    is_kept_back: Callable[[str], bool],
    prefix: str,
) -> str:
    """Returns a notice on skipped files, if nothing was found. `places` are those of the search; `prefix` makes the
    paths usable for other tools."""
    found: list[str] = []

    def take(records: list[bytes]) -> bool:
        paths = (record.decode("utf-8", "surrogateescape").removeprefix("./") for record in records if record)
        found.extend(path for path in paths if is_kept_back(path))
        return True

    await run_ripgrep(
        workspace, (rg, *(places or DEFAULT_RIPGREP_ARGUMENTS), "--files", "--null", "."), folder, b"\0", take
    )
    if not found:
        return ""
    named = ", ".join(one_line(prefix + path) for path in sorted(found)[:_MAX_WITHHELD_FILES_NAMED])
    some = (
        f" and {len(found) - _MAX_WITHHELD_FILES_NAMED:,} more"
        if len(found) > _MAX_WITHHELD_FILES_NAMED
        else ""
    )
    return f"Not searched, since a permission rule or what may be secret keeps them back: {named}{some}"
