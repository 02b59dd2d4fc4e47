"""The process that searches by structure: the library that does it panics, holds the interpreter and writes where it
should not, so it never comes into bayou's own. One request comes as a line; answers go out as lines."""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from ast_grep_py import SgRoot

from tools.edits.dialects.matching import Span
from tools.edits.syntax import SyntaxChecks
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.watch import Deadline
from tools.structure.languages import Around, around, is_indented
from tools.structure.messages import (
    Answer,
    FoundNode,
    NewPart,
    Rewrite,
    SearchDone,
    SearchedFile,
    SearchedResult,
    SearchProblem,
    StructureRequest,
)
from tools.structure.rewriting import VARIABLE, CannotIndent, Capture, filled, variables

_MAX_BYTES: Final = 5_000_000
_MAX_CAPTURE: Final = 200
_MAX_FOUND: Final = 2_000
_LATELY: Final = 64
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_TEXTS: Final = ("string", "heredoc", "template", "comment")


def main() -> None:
    """Asked once, then over; a pipe that breaks ends it at once."""
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=StructureRequest)
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    for answer in answers(request):
        out.write(msgspec.json.encode(answer) + b"\n")
        out.flush()


def answers(request: StructureRequest) -> Iterator[Answer]:
    patterns: dict[str, list[Any] | None] = {}
    readings: list[str] = []
    unread: list[str] = []
    searched = 0
    checks = SyntaxChecks()
    for file in request.files:
        if file.language not in patterns:
            try:
                made = [_pattern(rewrite.pattern, file.language) for rewrite in request.rewrites]
                patterns[file.language] = [rule for rule, _ in made]
                readings += [f"{file.language}: {reading}" for _, reading in made]
            except ValueError as problem:
                patterns[file.language] = None
                yield SearchProblem(words=f"{file.language}: {problem}")
        rules = patterns[file.language]
        if rules is None:
            continue
        data = _read(file.path)
        if data is None:
            unread.append(file.path)
            continue
        searched += 1
        try:
            found = _searched(file, data, request.rewrites, rules, checks)
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            yield SearchProblem(words=f"{file.path} could not be searched: {type(problem).__name__}")
            continue
        if found is not None:
            yield found
    yield SearchDone(searched=searched, unread=tuple(unread), readings=tuple(readings))


def _read(path: str) -> bytes | None:
    try:
        if Path(path).stat().st_size > _MAX_BYTES:
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _searched(
    file: SearchedFile, data: bytes, rewrites: tuple[Rewrite, ...], rules: list[Any], checks: SyntaxChecks
) -> SearchedResult | None:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    wanted = [index for index, rewrite in enumerate(rewrites) if _may_be_in(rewrite.pattern, text)]
    if not wanted:
        return None
    root = SgRoot(text, file.language).root()
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, FoundNode]] = []
    parts: list[NewPart] = []
    left: list[str] = []
    nested = 0
    for index in wanted:
        rewrite = rewrites[index]
        nodes = sorted(root.find_all(rules[index]), key=_start_and_length)
        for node in nodes:
            start, end = _place(node)
            is_among = any(start < last and first < end for first, last in taken[-_LATELY:])
            if is_among or any(first <= start and end <= last for first, last in taken[:-_LATELY]):
                nested += 1
                continue
            taken.append((start, end))
            line = node.range().start.line + 1
            captures = _captures(node, rewrite.pattern, text, file.language)
            shown = {name: capture.text[:_MAX_CAPTURE] for name, capture in captures.items()}
            found.append(
                (start, FoundNode(line=line, text=text[start:end].split("\n", 1)[0], captures=shown))
            )
            if rewrite.replacement is not None:
                try:
                    new = filled(rewrite.replacement, captures, _indent(text, start))
                    if new != text[start:end]:
                        parts.append(NewPart(start=start, end=end, text=new))
                except CannotIndent as why:
                    left.append(f"{file.path}:{line}: {why}")
    if not found:
        return None
    parts.sort(key=lambda part: part.start)
    return SearchedResult(
        path=file.path,
        digest=hashlib.sha256(data).hexdigest(),
        found=tuple(node for _, node in sorted(found, key=lambda one: one[0]))[:_MAX_FOUND],
        parts=tuple(parts),
        nested=nested,
        left=tuple(left),
        problems=_problems(file.path, text, parts, checks),
    )


def _start_and_length(node: Any) -> tuple[int, int]:
    start, end = _place(node)
    return start, start - end


def _problems(path: str, text: str, parts: list[NewPart], checks: SyntaxChecks) -> tuple[str, ...]:
    if not parts:
        return ()
    spans = [Span(start=part.start, end=part.end, new_text=part.text, strategy="exact") for part in parts]
    found = checks.of(path, text).new_problems(text, spans) or ()
    return tuple(f"line {one.line}: {one.words}" for one in found[:3])


def _may_be_in(pattern: str, text: str) -> bool:
    """Words of the pattern that every match has."""
    bare = VARIABLE.sub(" ", pattern)
    return all(word in text for word in _WORD.findall(bare))


def _indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip())]


def _captures(node: Any, pattern: str, text: str, language: str) -> dict[str, Capture]:
    out: dict[str, Capture] = {}
    for name in variables(pattern):
        single = node.get_match(name)
        nodes = [single] if single is not None else node.get_multiple_matches(name)
        if not nodes:
            out[name] = Capture(text="", indent="")
            continue
        start, end = _place(nodes[0])[0], _place(nodes[-1])[1]
        found = text[start:end]
        is_long = "\n" in found
        out[name] = Capture(
            text=found,
            indent=_indent(text, start),
            is_block=is_long and is_indented(language) and any(_is_statement(one) for one in nodes),
            has_text_lines=is_long and any(_has_text_lines(one) for one in nodes),
        )
    return out


def _is_statement(node: Any) -> bool:
    kind = node.kind()
    return kind == "block" or kind.endswith(("statement", "definition"))


def _has_text_lines(node: Any) -> bool:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        place = one.range()
        if place.start.line == place.end.line:
            continue
        if any(word in one.kind() for word in _TEXTS) and one.is_named():
            return True
        waiting += one.children()
    return False


# Patterns


def _pattern(pattern: str, language: str) -> tuple[Any, str]:
    """A rule of the library's and how the pattern is read. Raises `ValueError` for what is no code."""
    text = pattern.strip()
    for place in around(language):
        kind = _read_within(text, language, place)
        if kind is not None:
            context = f"{place.before}{text}{place.after}"
            return {"rule": {"pattern": {"context": context, "selector": kind}}}, f"{kind} {_short(text)}"
    tree = _tree(_plain(text), language)
    if tree is None or not tree.root_node.has_error:
        kind = "?"
        if tree is not None and tree.root_node.named_child_count:
            kind = tree.root_node.named_child(0).type
        return {"rule": {"pattern": text}}, f"{kind} {_short(text)}"
    raise ValueError(f"the pattern is no code of this language; it was read as {_short(str(tree.root_node))}")


def _read_within(pattern: str, language: str, place: Around) -> str | None:
    """The kind of the one node that the pattern is there."""
    for plain in (_plain(pattern), _plain(pattern, ends=";")):
        tree = _tree(f"{place.before}{plain}{place.after}", language)
        if tree is None or not tree.root_node.has_error:
            break
    else:
        return None
    root = SgRoot(f"{place.before}{plain}{place.after}", language).root()
    start, end = len(place.before), len(place.before) + len(plain)
    node = root
    while node is not None:
        if _place(node) == (start, end) and node.is_named():
            inner = [child for child in node.children() if _place(child) == (start, end) and child.is_named()]
            if not inner:
                return node.kind()
            node = inner[0]
            continue
        node = next(
            (child for child in node.children() if _place(child)[0] <= start and end <= _place(child)[1]),
            None,
        )
    return None


def _place(node: Any) -> tuple[int, int]:
    where = node.range()
    return where.start.index, where.end.index


def _plain(pattern: str, ends: str = "") -> str:
    """With names in the place of what is captured."""
    return VARIABLE.sub(lambda match: "captured" + (ends if match[0].startswith("$$$") else ""), pattern)


def _tree(text: str, language: str) -> Any:
    try:
        return parse(grammar_of("javascript" if language == "jsx" else language), text.encode(), Deadline(2))
    except (LookupError, OSError):
        return None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"
