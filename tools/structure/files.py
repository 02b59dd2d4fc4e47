"""Which files are searched by structure: those that ripgrep lists, in a language that can be."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.searching.kept_back import kept_back_below
from tools.searching.ripgrep import ALWAYS, find_ripgrep, run_ripgrep
from tools.structure.languages import of_file
from tools.structure.messages import SearchedFile
from tools.workspace import Workspace


async def files_to_search(
    workspace: Workspace, places: Sequence[str], globs: Sequence[str], cwd: Path, language: str | None
) -> list[SearchedFile]:
    """`places`: absolute; without any, the working directory. Sorted."""
    single = [place for place in places if workspace.files.stat(place).kind == "file"]
    folders = [place for place in places if place not in single] or ([] if single else [str(cwd)])
    names = set(single)
    rg = await find_ripgrep(workspace)
    for folder in folders:
        found: list[bytes] = []

        def take(lines: list[bytes], found: list[bytes] = found) -> bool:
            found.extend(lines)
            return True

        wanted = tuple(f"--glob={glob.removeprefix('./')}" for glob in globs)
        await run_ripgrep(workspace, (rg, "--files", "--null", *ALWAYS, *wanted, "./"), folder, b"\0", take)
        names |= await asyncio.to_thread(_shown, folder, found, kept_back_below(workspace, folder))
    return await asyncio.to_thread(_known, sorted(names), language)


def _shown(folder: str, found: Sequence[bytes], is_kept_back: Callable[[str], bool]) -> set[str]:
    """In a thread: a repository may have a hundred thousand, each of which is judged."""
    below = folder.rstrip("/")
    names = (name.decode(errors="surrogateescape").removeprefix("./") for name in found if name)
    return {f"{below}/{name}" for name in names if not is_kept_back(name)}


def _known(names: Sequence[str], language: str | None) -> list[SearchedFile]:
    out: list[SearchedFile] = []
    for name in names:
        found = of_file(name) if _is_text(name) else None
        if found is not None and language in (None, found, "typescript" if found == "tsx" else None):
            out.append(SearchedFile(path=name, language=found))
    return out


def _is_text(path: str) -> bool:
    """Names that are no text cannot be told."""
    return path.encode("utf-8", "replace").decode() == path
