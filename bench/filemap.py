"""Measures the file mapper: against a bare parse of the same bytes, how long other threads wait,
and memory.

The files are generated in shapes of real large files, so that figures of different machines
can be compared."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from select import select
from statistics import median

from tree_sitter import Parser

from bench.table import Row
from tools.filemap.file_mapper import make_file_map
from tools.filemap.language_detection import detect_language
from tools.filemap.languages.language_registry import has_language_description, language_named
from tools.filemap.map_cache import FileMapCache
from tools.filemap.rendering.file_map_rendering import render_file_map
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar

REPEAT = 5
_MEMORY_RUNS = 3
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
DEADLINE = 60.0
_GRAMMARS = {"json": "json", "yaml": "yaml", "sql": "sql", "markdown": "markdown", "xml": "xml"}


SHAPES = {
    "checker.ts": (
        "namespace ts {\n",
        """    /** Looks at one node. */
    function check@(node: Node, mode: CheckMode): Type {
        const links = getNodeLinks(node);
        if (!links.resolved && node.parent) {
            links.resolved = node.children.map(child => visit(child, mode + @, [1, 2, 3]));
        }
        for (let i = 0; i < node.length; i++) {
            total += node[i].weight * (i + 1) % 7;
        }
        return links.resolved || errorType;
    }

""",
        5_000,
        "}\n",
    ),
    "frame.py": (
        "class Frame:\n",
        """    def method_@(self, value: int, *rest: str) -> int:
        \"\"\"Does it.\"\"\"
        return value + @

""",
        4_800,
        "",
    ),
    "types.go": (
        "package v1\n\n",
        """// T@ is a type.
type T@ struct {
	Name string `json:"name"`
	Count int32
}

func (t *T@) Get(a int) (string, error) {
	if a > @ {
		return t.Name, nil
	}
	return "", nil
}

""",
        900,
        "",
    ),
    "sema.cpp": (
        "namespace sema {\n",
        """static Result Act@(Sema &S, Expr *E, const Type *T) {
  if (E->isValid() && T != nullptr) {
    S.diag(E->loc(), diag::err_@) << T->name();
    return Result(E, T, {1, 2, @});
  }
  return Error;
}

""",
        3_000,
        "}\n",
    ),
    "api.yaml": (
        "paths:\n",
        """  /item/@:
    get:
      summary: Gets item @
      parameters:
        - name: id
          in: path
          required: true
      responses:
        '200':
          description: |
            fine: it is
""",
        9_000,
        "",
    ),
    "structure.sql": (
        "",
        """CREATE TABLE public.table_@ (
    id bigint NOT NULL,
    name character varying(255) DEFAULT ''::text,
    created_at timestamp without time zone
);

CREATE INDEX index_@ ON public.table_@ USING btree (name);

""",
        5_000,
        "",
    ),
    "changes.md": (
        "",
        """# Version @

## Fixed

- One thing ([#@](https://example.org/@))
- Another *thing*

```sh
# no heading
```

""",
        4_000,
        "",
    ),
}
"""The files by name: beginning, numbered repeated part, count, end."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        paths = list(_files(Path(folder)))
        for path in paths:
            yield from _speed(path)
        for path in paths:
            yield _longest_wait_row(path)
        for path in paths:
            yield from _memory(path)
        yield from _cache_speed(Path(folder) / "checker.ts", Path(folder) / "cache")


def _files(folder: Path) -> Iterator[Path]:
    for name, (head, part, count, foot) in SHAPES.items():
        path = folder / name
        text = head + "".join(part.replace("@", str(n)) for n in range(count)) + foot
        path.write_text(text, encoding="utf-8")
        yield path
    path = folder / "events.json"
    groups = {f"group{k}": [_sample_event(n) for n in range(600)] for k in range(75)}
    path.write_text(json.dumps(groups, indent=2), encoding="utf-8")
    yield path


def _sample_event(number: int) -> dict[str, object]:
    return {"id": number, "name": f"event {number}", "tags": ["a", "b"], "size": number / 7}


def _speed(path: Path) -> Iterator[Row]:
    source = path.read_bytes()
    name = detect_language(path, source) or ""
    grammar = load_tree_sitter_grammar(
        language_named(name).grammar if has_language_description(name) else _GRAMMARS[name]
    )
    bare = _fastest(lambda: Parser(grammar).parse(source))
    whole = _fastest(lambda: render_file_map(make_file_map(path, deadline_seconds=DEADLINE)))
    yield Row(
        name=f"{path.name}: {source.count(10):,} lines, {len(source) / 1e6:.1f} MB, read to rendered",
        figure=whole * 1000,
        unit="ms",
        ratio=whole / bare,
        reference="bare parse",
        limit=f"1.5x + 15 ms = {1500 * bare + 15:,.0f} ms",
    )


def _longest_wait_row(path: Path) -> Row:
    """Measures how long another thread waits at most while a map is made, in this process's CPU time,
    so that other programs do not count. The lowest of several runs."""
    return Row(
        name=f"{path.name}: longest wait of another thread meanwhile",
        figure=min(_longest_wait(path) for _ in range(REPEAT)) * 1000,
        unit="ms",
        limit="25 ms",
    )


def _longest_wait(path: Path) -> float:
    work = threading.Thread(target=lambda: make_file_map(path, deadline_seconds=DEADLINE))
    longest, before = 0.0, time.process_time()
    work.start()
    while work.is_alive():
        time.sleep(0.0005)
        now = time.process_time()
        longest, before = max(longest, now - before), now
    return longest


def _memory(path: Path) -> Iterator[Row]:
    """Measures private memory, without shared pages of the grammar's file: the median of several
    processes that have loaded the language, observed from outside."""
    if not sys.platform.startswith("linux"):
        return
    size = path.stat().st_size
    small = path.with_name("small" + path.suffix)
    small.write_bytes(path.read_bytes()[:20_000])
    weighed = [_measure_memory(path, small) for _ in range(_MEMORY_RUNS)]
    yield Row(
        name=f"{path.name}: memory while its map is made and rendered, over its size",
        figure=median(peak for peak, _ in weighed) / size,
        unit="x",
        limit="12x",
    )
    yield Row(
        name=f"{path.name}: memory kept when the map is forgotten, over its size",
        figure=median(kept for _, kept in weighed) / size,
        unit="x",
    )


_CHILD_PROGRAM = """
import sys
from pathlib import Path
from tools.filemap.file_mapper import make_file_map
from tools.memory_reduction import trim_heap
from tools.filemap.rendering.file_map_rendering import render_file_map

def tell():
    print(flush=True)
    sys.stdin.readline()

render_file_map(make_file_map(Path(sys.argv[2])))
trim_heap()
tell()
made = render_file_map(make_file_map(Path(sys.argv[1]), deadline_seconds=60))
tell()
del made
trim_heap()
tell()
"""


def _measure_memory(path: Path, small: Path) -> tuple[int, int]:
    """Returns the peak and the final memory of a process that makes a map."""
    here = Path(__file__).resolve().parent.parent
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD_PROGRAM, str(path), str(small)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(here)},
    ) as child:  # fmt: skip
        assert child.stdin is not None and child.stdout is not None
        figures = []
        for _ in range(3):
            figures.append(_peak_until_done(child.pid, child.stdout.fileno()))
            child.stdin.write(b"\n")
            child.stdin.flush()
    (_, before), (peak, _), (_, left) = figures
    return max(0, peak - before), max(0, left - before)


def _peak_until_done(pid: int, told: int) -> tuple[int, int]:
    """Returns the peak and the final memory until the process reports that it is done."""
    most = 0
    while True:
        is_told = bool(select([told], [], [], 0.0005)[0])
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[:3]
        now = (int(resident) - int(shared)) * PAGE
        most = max(most, now)
        if is_told:
            os.read(told, 1)
            return most, now


def _cache_speed(path: Path, folder: Path) -> Iterator[Row]:
    cache = FileMapCache(folder)
    made = _fastest(lambda: make_file_map(path, deadline_seconds=DEADLINE), 1)
    make_file_map(path, deadline_seconds=DEADLINE, cache=cache)
    again = _fastest(lambda: make_file_map(path, deadline_seconds=DEADLINE, cache=cache))
    disk = _fastest(lambda: make_file_map(path, deadline_seconds=DEADLINE, cache=FileMapCache(folder)))
    yield Row(
        name="known map, from memory",
        figure=again * 1000,
        unit="ms",
        ratio=again / made,
        reference="made anew",
    )
    yield Row(
        name="known map, from disk", figure=disk * 1000, unit="ms", ratio=disk / made, reference="made anew"
    )


def _fastest(work: Callable[[], object], repeat: int = REPEAT) -> float:
    found = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)
