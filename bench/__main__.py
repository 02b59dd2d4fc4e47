"""`python -m bench [subject …]`: runs the benchmarks and prints one table.

Subjects are the modules of this folder that define `rows()`; without arguments, all are run.
`repository-maps` and `first-question` also take clones of repositories; `repository-index`,
`repository-frames` and `filemap-reference` a folder of sources."""

import importlib
import pkgutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import bench
from bench.table import Row, lines_of

NOT_SUBJECTS = {"__main__", "table"}


_SUBJECTS_WITH_FOLDERS = (
    "filemap_reference",
    "first_question",
    "repository_frames",
    "repository_index",
    "repository_maps",
)


def subjects() -> list[str]:
    """Returns the names of all modules in this folder that define `rows`."""
    names = sorted(
        module.name for module in pkgutil.iter_modules(bench.__path__) if module.name not in NOT_SUBJECTS
    )
    return [name for name in names if "def rows(" in _module_text(name)]


def main(words: list[str]) -> int:
    known = subjects()
    words = [word.replace("-", "_") if word.replace("-", "_") in known else word for word in words]
    clones = [word for word in words if word not in known and Path(word).is_dir()]
    words = [word for word in words if word not in clones]
    unknown = [word for word in words if word not in known]
    if unknown:
        sys.stderr.write(f"No benchmark is named {', '.join(unknown)}. There are: {', '.join(known)}.\n")
        return 2
    collected: list[tuple[str, Row]] = []
    for name in words or known:
        started = time.perf_counter()
        for row in _rows(name, clones):
            collected.append((name, row))
            sys.stderr.write(f"  {name}: {row.name}\n")
        sys.stderr.write(f"{name}: {time.perf_counter() - started:.0f} s\n")
    print("\n".join(lines_of(collected)))
    return 0


def _rows(name: str, clones: list[str]) -> Iterable[Row]:
    module = importlib.import_module(f"bench.{name}")
    return module.rows(clones) if name in _SUBJECTS_WITH_FOLDERS else module.rows()


def _module_text(name: str) -> str:
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
