"""The structural search process. The ast-grep library can panic, hold the interpreter and write to stdout, so
bayou's own process never loads it. One request comes in as a line; answers go out as lines."""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from ast_grep_py import SgRoot

from tools.ast_search.ast_grep_languages import SnippetContext, is_indentation_based, snippet_contexts_of
from tools.ast_search.replacement_templates import (
    AST_GREP_VARIABLE_PATTERN,
    CannotIndentRewrite,
    CapturedCode,
    fill_replacement_template,
    find_pattern_variables,
)
from tools.ast_search.search_messages import (
    FileToSearchStructurally,
    FoundSyntaxNode,
    PatternRewrite,
    SpanReplacement,
    StructuralMatchesOfFile,
    StructuralSearchAnswer,
    StructuralSearchDone,
    StructuralSearchProblem,
    StructuralSearchRequest,
)
from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.syntax_checks import SyntaxCheckCache
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar, parse_source_with_grammar

_MAX_SEARCHED_FILE_BYTES: Final = 5_000_000
_MAX_CAPTURE_CHARS: Final = 200
_MAX_FOUND_SYNTAX_NODES: Final = 2_000
_SEARCHED_FILES_PER_BATCH: Final = 64
_IDENTIFIER_IN_PATTERN_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_TEXT_NODE_KINDS: Final = ("string", "heredoc", "template", "comment")


def main() -> None:
    """Answers one structural search request and exits; a broken pipe ends the process at once."""
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=StructuralSearchRequest)
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    for answer in answer_search_request(request):
        out.write(msgspec.json.encode(answer) + b"\n")
        out.flush()


def answer_search_request(request: StructuralSearchRequest) -> Iterator[StructuralSearchAnswer]:
    patterns: dict[str, list[Any] | None] = {}
    readings: list[str] = []
    unread: list[str] = []
    searched = 0
    checks = SyntaxCheckCache()
    for file in request.files:
        if file.language not in patterns:
            try:
                made = [_compile_pattern(rewrite.pattern, file.language) for rewrite in request.rewrites]
                patterns[file.language] = [rule for rule, _ in made]
                readings += [f"{file.language}: {reading}" for _, reading in made]
            except ValueError as problem:
                patterns[file.language] = None
                yield StructuralSearchProblem(words=f"{file.language}: {problem}")
        rules = patterns[file.language]
        if rules is None:
            continue
        data = _read_file(file.path)
        if data is None:
            unread.append(file.path)
            continue
        searched += 1
        try:
            found = _search_file(file, data, request.rewrites, rules, checks)
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            yield StructuralSearchProblem(
                words=f"{file.path} could not be searched: {type(problem).__name__}"
            )
            continue
        if found is not None:
            yield found
    yield StructuralSearchDone(searched=searched, unread=tuple(unread), pattern_readings=tuple(readings))


def _read_file(path: str) -> bytes | None:
    try:
        if Path(path).stat().st_size > _MAX_SEARCHED_FILE_BYTES:
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _search_file(
    file: FileToSearchStructurally,
    data: bytes,
    rewrites: tuple[PatternRewrite, ...],
    rules: list[Any],
    checks: SyntaxCheckCache,
) -> StructuralMatchesOfFile | None:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    wanted = [index for index, rewrite in enumerate(rewrites) if _has_pattern_words(rewrite.pattern, text)]
    if not wanted:
        return None
    root = SgRoot(text, file.language).root()
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, FoundSyntaxNode]] = []
    parts: list[SpanReplacement] = []
    left: list[str] = []
    nested = 0
    for index in wanted:
        rewrite = rewrites[index]
        nodes = sorted(root.find_all(rules[index]), key=_outermost_first_key)
        for node in nodes:
            start, end = _node_range(node)
            is_among = any(start < last and first < end for first, last in taken[-_SEARCHED_FILES_PER_BATCH:])
            if is_among or any(
                first <= start and end <= last for first, last in taken[:-_SEARCHED_FILES_PER_BATCH]
            ):
                nested += 1
                continue
            taken.append((start, end))
            line = node.range().start.line + 1
            captures = _collect_captures(node, rewrite.pattern, text, file.language)
            shown = {name: capture.text[:_MAX_CAPTURE_CHARS] for name, capture in captures.items()}
            found.append(
                (start, FoundSyntaxNode(line=line, text=text[start:end].split("\n", 1)[0], captures=shown))
            )
            if rewrite.replacement is not None:
                try:
                    new = fill_replacement_template(
                        rewrite.replacement, captures, _indent_of_line_at(text, start)
                    )
                    if new != text[start:end]:
                        parts.append(SpanReplacement(start=start, end=end, text=new))
                except CannotIndentRewrite as why:
                    left.append(f"{file.path}:{line}: {why}")
    if not found:
        return None
    parts.sort(key=lambda part: part.start)
    return StructuralMatchesOfFile(
        path=file.path,
        digest=hashlib.sha256(data).hexdigest(),
        found=tuple(node for _, node in sorted(found, key=lambda one: one[0]))[:_MAX_FOUND_SYNTAX_NODES],
        replacements=tuple(parts),
        nested=nested,
        skipped=tuple(left),
        problems=_find_new_syntax_errors(file.path, text, parts, checks),
    )


def _outermost_first_key(node: Any) -> tuple[int, int]:
    start, end = _node_range(node)
    return start, start - end


def _find_new_syntax_errors(
    path: str, text: str, parts: list[SpanReplacement], checks: SyntaxCheckCache
) -> tuple[str, ...]:
    if not parts:
        return ()
    spans = [TextEdit(start=part.start, end=part.end, new_text=part.text, strategy="exact") for part in parts]
    found = checks.check_file(path, text).find_new_syntax_errors(text, spans) or ()
    return tuple(f"line {one.line}: {one.message}" for one in found[:3])


def _has_pattern_words(pattern: str, text: str) -> bool:
    """Returns whether a text has the words of an ast-grep pattern that every match contains."""
    bare = AST_GREP_VARIABLE_PATTERN.sub(" ", pattern)
    return all(word in text for word in _IDENTIFIER_IN_PATTERN_PATTERN.findall(bare))


def _indent_of_line_at(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip())]


def _collect_captures(node: Any, pattern: str, text: str, language: str) -> dict[str, CapturedCode]:
    out: dict[str, CapturedCode] = {}
    for name in find_pattern_variables(pattern):
        single = node.get_match(name)
        nodes = [single] if single is not None else node.get_multiple_matches(name)
        if not nodes:
            out[name] = CapturedCode(text="", indent="")
            continue
        start, end = _node_range(nodes[0])[0], _node_range(nodes[-1])[1]
        found = text[start:end]
        is_long = "\n" in found
        out[name] = CapturedCode(
            text=found,
            indent=_indent_of_line_at(text, start),
            is_block=is_long and is_indentation_based(language) and any(_is_statement(one) for one in nodes),
            has_multiline_string=is_long and any(_has_multiline_string(one) for one in nodes),
        )
    return out


def _is_statement(node: Any) -> bool:
    kind = node.kind()
    return kind == "block" or kind.endswith(("statement", "definition"))


def _has_multiline_string(node: Any) -> bool:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        place = one.range()
        if place.start.line == place.end.line:
            continue
        if any(word in one.kind() for word in _TEXT_NODE_KINDS) and one.is_named():
            return True
        waiting += one.children()
    return False


# Patterns


def _compile_pattern(pattern: str, language: str) -> tuple[Any, str]:
    """Returns an ast-grep rule and how the pattern was parsed. Raises `ValueError` for a pattern that is not code."""
    text = pattern.strip()
    for place in snippet_contexts_of(language):
        kind = _node_kind_in_context(text, language, place)
        if kind is not None:
            context = f"{place.before}{text}{place.after}"
            return {
                "rule": {"pattern": {"context": context, "selector": kind}}
            }, f"{kind} {_shorten_text(text)}"
    tree = _parse_snippet(_replace_variables_by_names(text), language)
    if tree is None or not tree.root_node.has_error:
        kind = "?"
        if tree is not None and tree.root_node.named_child_count:
            kind = tree.root_node.named_child(0).type
        return {"rule": {"pattern": text}}, f"{kind} {_shorten_text(text)}"
    raise ValueError(
        f"the pattern is no code of this language; it was read as {_shorten_text(str(tree.root_node))}"
    )


def _node_kind_in_context(pattern: str, language: str, place: SnippetContext) -> str | None:
    """Returns the node kind of an ast-grep pattern in a context, if it is a single node."""
    for plain in (_replace_variables_by_names(pattern), _replace_variables_by_names(pattern, ends=";")):
        tree = _parse_snippet(f"{place.before}{plain}{place.after}", language)
        if tree is None or not tree.root_node.has_error:
            break
    else:
        return None
    root = SgRoot(f"{place.before}{plain}{place.after}", language).root()
    start, end = len(place.before), len(place.before) + len(plain)
    node = root
    while node is not None:
        if _node_range(node) == (start, end) and node.is_named():
            inner = [
                child for child in node.children() if _node_range(child) == (start, end) and child.is_named()
            ]
            if not inner:
                return node.kind()
            node = inner[0]
            continue
        node = next(
            (
                child
                for child in node.children()
                if _node_range(child)[0] <= start and end <= _node_range(child)[1]
            ),
            None,
        )
    return None


def _node_range(node: Any) -> tuple[int, int]:
    where = node.range()
    return where.start.index, where.end.index


def _replace_variables_by_names(pattern: str, ends: str = "") -> str:
    """Replaces the variables of an ast-grep pattern with names."""
    return AST_GREP_VARIABLE_PATTERN.sub(
        lambda match: "captured" + (ends if match[0].startswith("$$$") else ""), pattern
    )


def _parse_snippet(text: str, language: str) -> Any:
    try:
        return parse_source_with_grammar(
            load_tree_sitter_grammar("javascript" if language == "jsx" else language),
            text.encode(),
            MapDeadline(2),
        )
    except (LookupError, OSError):
        return None


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"
