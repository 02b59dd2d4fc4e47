"""Edits of real files with a known outcome, for testing the syntax check: removed statements and
added blank lines, which break nothing, and removed closing lines, which do."""

import random
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from tree_sitter import Node

from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.syntax_checks import SyntaxCheckCache, find_syntax_checking_grammar
from tools.filemap.language_detection import detect_language
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.tree_sitter_parsing import load_tree_sitter_grammar, parse_source_with_grammar

TESTS = Path(__file__).parent.parent / "tests" / "filemap"
_CLOSERS = re.compile(r"^[ \t]*(?:[\])}]+[;,]?|end)[ \t]*$", re.MULTILINE)
_MAX_FILE_BYTES = 120_000


class CorpusFile:
    """A source file in a language with a grammar."""

    def __init__(self, name: str, text: str, grammar: str) -> None:
        self.name = name
        self.text = text
        self.grammar = grammar
        self.checks = SyntaxCheckCache()

    def problems(self, span: TextEdit) -> int | None:
        found = self.checks.check_file(self.name, self.text).find_new_syntax_errors(self.text, (span,))
        return None if found is None else len(found)


def corpus() -> list[CorpusFile]:
    found: list[CorpusFile] = []
    for archive in ("evaluation", "held-out"):
        with tarfile.open(TESTS / "evaluation" / f"{archive}.tar.xz") as packed:
            for member in packed.getmembers():
                file = packed.extractfile(member) if member.isfile() else None
                if file is not None and member.size < _MAX_FILE_BYTES:
                    found += _corpus_files(member.name, file.read())
    for path in sorted(filter(Path.is_file, (TESTS / "samples").rglob("*"))):
        found += _corpus_files(path.name, path.read_bytes())
    return found


def _corpus_files(name: str, data: bytes) -> list[CorpusFile]:
    grammar = find_syntax_checking_grammar(detect_language(PurePath(name), data[:2000]) or "")
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return []
    return [CorpusFile(name, text, grammar)] if grammar else []


def harmless_edits(file: CorpusFile, count: int, luck: random.Random) -> Iterator[TextEdit]:
    """Yields edits that remove statements from blocks with others, or add blank lines between
    statements."""
    places = _statements(file)
    for _ in range(count if places else 0):
        start, end = luck.choice(places)
        is_removal = luck.random() < 0.5
        yield TextEdit(
            start=start,
            end=end if is_removal else start,
            new_text="" if is_removal else "\n",
            strategy="exact",
        )


def _statements(file: CorpusFile) -> list[tuple[int, int]]:
    """Returns the ranges of whole-line statements next to at least two others of their kind, without
    syntax errors."""
    source = file.text.encode()
    root = parse_source_with_grammar(
        load_tree_sitter_grammar(file.grammar), source, MapDeadline(10)
    ).root_node
    found: list[tuple[int, int]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.named_children
        waiting += children
        of_kind = [child for child in children if _is_statement(child)]
        if node.has_error or len(of_kind) < 3:
            continue
        for child in of_kind:
            start = source.rfind(b"\n", 0, child.start_byte) + 1
            end = source.find(b"\n", child.end_byte)
            around = source[start : child.start_byte] + source[child.end_byte : end if end >= 0 else None]
            if end >= 0 and not around.strip():
                found.append((len(source[:start].decode()), len(source[: end + 1].decode())))
    return found


def _is_statement(node: Node) -> bool:
    """Returns whether a node is a statement, not its end nor an element of a separated list."""
    if node.type.startswith(("end_", "interface", "ansi_port")):
        return False
    return node.type.endswith(("_statement", "statement", "_declaration", "_definition", "_item", "rule_set"))


def closer_removals(file: CorpusFile, count: int, luck: random.Random) -> Iterator[TextEdit]:
    """Yields edits that remove lines which only close something; not those in strings and comments."""
    root = parse_source_with_grammar(
        load_tree_sitter_grammar(file.grammar), file.text.encode(), MapDeadline(10)
    ).root_node
    places = [match.span() for match in _CLOSERS.finditer(file.text) if _is_code(root, file.text, match)]
    for start, end in luck.sample(places, min(count, len(places))):
        yield TextEdit(start=start, end=min(len(file.text), end + 1), new_text="", strategy="exact")


def _is_code(root: Node, text: str, closer: re.Match[str]) -> bool:
    at = len(text[: closer.end() - 1].encode())
    node = root.descendant_for_byte_range(at, at)
    return node is None or not any(word in node.type for word in ("string", "comment", "heredoc", "literal"))


def count_languages(files: Sequence[CorpusFile]) -> int:
    return len({file.grammar for file in files})
