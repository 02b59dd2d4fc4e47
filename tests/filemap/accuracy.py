"""How right maps are: each file of `evaluation/` against what its language's own parser says."""

import json
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.file_mapper import make_file_map_of_text

EVALUATION = Path(__file__).parent / "evaluation"
JUDGED = set(
    [
        "function",
        "method",
        "constructor",
        "class",
        "interface",
        "struct",
        "enum",
        "union",
        "trait",
        "type",
        "record",
        "module",
        "namespace",
        "heading",
        "rule",
        "table",
        "protocol",
        "contract",
        "library",
        "message",
        "service",
        "modifier",
        "event",
        "error",
        "annotation",
        "media",
        "keyframes",
        "supports",
        "at-rule",
        "mixin",
        "object",
        "accessor",
        "package",
        "layer",
        "container",
    ]
)
EXTRA_KINDS = {"ocaml": {"value"}, "toml": {"key"}}
UNJUDGED = {"ocaml": {"constructor"}, "php": {"namespace"}, "proto": {"package"}, "erlang": {"module"}}
TWO_LEVELS = {"json", "yaml"}


class Score(msgspec.Struct):
    truths: int = 0
    ours: int = 0
    found: int = 0
    parents: int = 0
    ends: int = 0

    @property
    def figures(self) -> tuple[float, float, float, float]:
        found = max(1, self.found)
        return (
            self.found / max(1, self.truths),
            self.found / max(1, self.ours),
            self.parents / found,
            self.ends / found,
        )


class Truth(msgspec.Struct, array_like=True, frozen=True):
    name: str
    first: int
    last: int
    parent: int


def sources() -> Iterator[tuple[str, bytes, list[Truth]]]:
    """Name, content and truth of every file."""
    for path in sorted(EVALUATION.glob("*.tar.xz")):
        with tarfile.open(path) as archive:
            contents = {member.name: archive.extractfile(member) for member in archive.getmembers()}
            read = {name: stream.read() for name, stream in contents.items() if stream is not None}
        truths: dict[str, Any] = json.loads(read.pop("truth.json"))
        for name, content in sorted(read.items()):
            yield name, content, msgspec.convert(truths[name], list[Truth])


def scores() -> dict[str, Score]:
    """By language."""
    found: dict[str, Score] = defaultdict(Score)
    for name, content, truths in sources():
        language = name.split("/")[0]
        _judge(found[language], language, make_file_map_of_text(content, name, deadline_seconds=60), truths)
    return dict(found)


def macro(found: dict[str, Score]) -> tuple[float, float, float, float]:
    """Recall, precision, parents and ends: the mean over languages."""
    columns = zip(*(score.figures for score in found.values()), strict=True)
    recall, precision, parents, ends = (sum(column) / len(found) for column in columns)
    return recall, precision, parents, ends


def _judge(score: Score, language: str, made: FileMap, truths: list[Truth]) -> None:
    ours = _judged(language, made)
    by_name: dict[str, list[int]] = defaultdict(list)
    for index in ours:
        by_name[_last(made.symbols[index].name, language)].append(index)
    matched: dict[int, int] = {}
    for number, truth in enumerate(truths):
        near = [
            index
            for index in by_name[_last(truth.name, language)]
            if index not in matched and _is_near(made.symbols[index], truth.first)
        ]
        if near:
            best = min(near, key=lambda index: _distance(made.symbols[index], truth))
            matched[best] = number
    score.truths += len(truths)
    score.ours += len(ours)
    score.found += len(matched)
    for index, number in matched.items():
        symbol, truth = made.symbols[index], truths[number]
        score.ends += truth.last in (symbol.end_line, -1)
        parent = symbol.parent
        while parent is not None and parent not in ours:
            parent = made.symbols[parent].parent
        if truth.parent < 0:
            score.parents += parent is None or parent not in matched
        elif parent is not None:
            names = _last(made.symbols[parent].name, language), _last(truths[truth.parent].name, language)
            score.parents += matched.get(parent) == truth.parent or names[0] == names[1]


def _judged(language: str, made: FileMap) -> set[int]:
    if language in TWO_LEVELS:
        return {
            index
            for index, each in enumerate(made.symbols)
            if each.kind != "item" and _depth(made, index) < 2
        }
    if language in ("markdown", "rst"):
        return {index for index, each in enumerate(made.symbols) if each.kind == "heading"}
    kinds = (JUDGED | EXTRA_KINDS.get(language, set())) - UNJUDGED.get(language, set())
    return {
        index
        for index, each in enumerate(made.symbols)
        if each.kind in kinds and not each.name.startswith("<< ")
    }


def _depth(made: FileMap, index: int) -> int:
    depth, parent = 0, made.symbols[index].parent
    while parent is not None:
        depth, parent = depth + 1, made.symbols[parent].parent
    return depth


def _is_near(symbol: Symbol, line: int) -> bool:
    first = symbol.decorator_line or symbol.start_line
    return first - 3 <= line <= symbol.start_line + 3


def _distance(symbol: Symbol, truth: Truth) -> int:
    return abs(symbol.start_line - truth.first) * 10 + abs(symbol.end_line - truth.last)


def _last(name: str, language: str) -> str:
    """The last part of a qualified name, written in one way."""
    name = name.strip("\"'`")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].strip()
    if name.startswith("operator"):
        return name.replace(" ", "")
    if language in ("cpp", "c", "rust"):
        name = re.sub(r"<.*", "", name) or name
    name = name.replace("::", ".").replace("->", ".")
    if " " in name or "/" in name:
        return " ".join(name.split())
    return (
        name if name.startswith((".", "#", "@", ":", "&", "$")) else re.split(r"[.:#]", name.rstrip(":"))[-1]
    )
