"""Syntax highlighting: converts Pygments tokens to style runs, whole or from a checkpoint.

Pygments is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from widgets.transcript.leaves.layout_leaf import StyleRun

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_HIGHLIGHTED_LINE_LENGTH = 5_000
"""Longer lines are not coloured: some lexers take quadratic time on them."""
MAX_HIGHLIGHTED_CODE_LENGTH = 2_000_000
MIN_CHARS_BETWEEN_LEXER_CHECKPOINTS = 1_400
"""Characters lexed again at a time for lexers that cannot resume."""

_STYLE_BY_PYGMENTS_TOKEN = (
    ("Comment.Preproc", "syntax-preprocessor"),
    ("Comment", "syntax-comment"),
    ("Keyword.Type", "syntax-type"),
    ("Keyword.Constant", "syntax-constant"),
    ("Keyword", "syntax-keyword"),
    ("Name.Builtin", "syntax-builtin"),
    ("Name.Function", "syntax-function"),
    ("Name.Class", "syntax-type"),
    ("Name.Decorator", "syntax-decorator"),
    ("Name.Exception", "syntax-type"),
    ("Name.Tag", "syntax-keyword"),
    ("Name.Attribute", "syntax-attribute"),
    ("Name.Constant", "syntax-constant"),
    ("Name.Label", "syntax-attribute"),
    ("Literal.String", "syntax-string"),
    ("Literal.Number", "syntax-number"),
    ("Literal", "syntax-constant"),
    ("Operator.Word", "syntax-keyword"),
    ("Operator", "syntax-operator"),
    ("Generic.Deleted", "syntax-deleted"),
    ("Generic.Inserted", "syntax-inserted"),
    ("Generic.Heading", "syntax-keyword"),
    ("Generic.Subheading", "syntax-function"),
    ("Generic.Prompt", "syntax-comment"),
    ("Generic.Error", "syntax-deleted"),
)


_GLOB_CHARACTERS = frozenset("*?[")


class LexerCheckpoint(NamedTuple):
    """A position where syntax highlighting can resume: a line start, and the lexer's state stack there."""

    position: int
    stack: tuple[str, ...] = ("root",)


def _token_style(token: Any) -> str:
    return _style_of_token_name(str(token)[len("Token.") :])


@lru_cache(1024)
def _style_of_token_name(name: str) -> str:
    for prefix, key in _STYLE_BY_PYGMENTS_TOKEN:
        if name == prefix or name.startswith(prefix + "."):
            return key
    return ""


@lru_cache(128)
def pygments_lexer_for(language: str) -> Lexer | None:
    """Returns the Pygments lexer for a code fence's language; None for plain or unknown languages."""
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - costs 40 ms of start-up
    from pygments.util import ClassNotFound  # noqa: PLC0415 - same

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None
    return None if lexer is None or lexer.name == "Text only" else lexer


def load_pygments() -> None:
    """Imports the syntax highlighter before the first code is shown."""
    highlight("x = 1", "python")
    resume_highlighting("x = 1", "python", LexerCheckpoint(0))


@lru_cache(512)
def language_of_file(path: str) -> str:
    """Returns the name of a file's language for highlighting, by the file's name; empty if it is unknown."""
    from pygments.lexers import find_lexer_class_by_name, get_all_lexers  # noqa: PLC0415 - costs 40 ms of start-up

    name = path.rsplit("/", 1)[-1]
    found = [
        (pattern, aliases[0])
        for _, aliases, patterns, _ in get_all_lexers(plugins=False)
        for pattern in patterns
        if aliases and _fits_pattern(name, pattern)
    ]
    if len(found) < 2:
        return found[0][1] if found else ""

    def rank(match: tuple[str, str]) -> tuple[float, str]:
        lexer = find_lexer_class_by_name(match[1])
        return lexer.priority + 0.5 * ("*" not in match[0]), lexer.__name__

    return max(found, key=rank)[1]


def _fits_pattern(name: str, pattern: str) -> bool:
    """Returns whether a file name fits one of Pygments' patterns. Pygments itself compiles each of its 900 patterns for
    that; nearly all of them are plain names and endings."""
    rest = pattern.removeprefix("*")
    if not _GLOB_CHARACTERS.isdisjoint(rest):
        return fnmatchcase(name, pattern)
    return name == rest if rest == pattern else name.endswith(rest)


def highlight(code: str, language: str, base: int = 0) -> list[StyleRun]:
    """Returns the syntax colours of a piece of code as style runs, with positions counted from `base`; none for unknown
    languages and very long code or lines."""
    lexer = pygments_lexer_for(language)
    if lexer is None or len(code) > MAX_HIGHLIGHTED_CODE_LENGTH or _has_long_line(code):
        return []
    return _join_runs(_plain_runs(lexer, code, base))


def _plain_runs(lexer: Lexer, code: str, base: int) -> Iterator[StyleRun]:
    at, end = base, base + len(code)
    for token, value in lexer.get_tokens(
        code if code.endswith("\n") else f"{code}\n"
    ):  # some lexers need whole lines
        size = len(value)
        key = _token_style(token)
        if key and not value.isspace() and at < end:
            yield at, min(at + size, end), key
        at += size


def _has_long_line(code: str) -> bool:
    return (
        len(code) > MAX_HIGHLIGHTED_LINE_LENGTH
        and max(map(len, code.split("\n"))) > MAX_HIGHLIGHTED_LINE_LENGTH
    )


def _join_runs(runs: Iterator[StyleRun]) -> list[StyleRun]:
    out: list[StyleRun] = []
    for run in runs:
        if out and out[-1][1] == run[0] and out[-1][2] == run[2]:
            out[-1] = (out[-1][0], run[1], run[2])
        else:
            out.append(run)
    return out


def resume_highlighting(
    code: str, language: str, checkpoint: LexerCheckpoint
) -> tuple[list[StyleRun], int, LexerCheckpoint]:
    """Highlights growing code from a checkpoint to the end; returns its style runs, how many of them are final, and the
    next checkpoint.

    The next checkpoint is the start of the last line but one, since a token may depend on the line after it."""
    lexer = pygments_lexer_for(language)
    if lexer is None or _has_long_line(code[checkpoint.position :]):
        return [], 0, checkpoint
    if not _is_resumable(lexer):
        return _resume_without_state(lexer, code, checkpoint)
    return _ResumableLexer(lexer, code, checkpoint).run()


def _is_resumable(lexer: Lexer) -> bool:
    from pygments.lexer import RegexLexer  # noqa: PLC0415 - costs 40 ms of start-up

    return type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed


@cache
def _lexer_states(lexer: Any) -> Any:
    """Returns the states of a lexer's class: pattern, action and next state of each rule.

    Pygments does the same; its compiled patterns are found in the cache of `re`."""
    return lexer.process_tokendef("bayou", lexer.get_tokendefs())


def _resume_without_state(
    lexer: Lexer, code: str, checkpoint: LexerCheckpoint
) -> tuple[list[StyleRun], int, LexerCheckpoint]:
    start = checkpoint.position
    runs = list(_plain_runs(lexer, code[start:], start))
    if len(code) - start <= 2 * MIN_CHARS_BETWEEN_LEXER_CHECKPOINTS:
        return runs, 0, checkpoint
    cut = code.rfind("\n", start, len(code) - MIN_CHARS_BETWEEN_LEXER_CHECKPOINTS) + 1
    if cut <= start:
        return runs, 0, checkpoint
    final = sum(1 for run in runs if run[1] <= cut)
    return runs, final, LexerCheckpoint(cut)


class _ResumableLexer:
    """A replacement for the loop of Pygments' lexers, whose stack of states can be saved and resumed."""

    def __init__(self, lexer: Any, code: str, checkpoint: LexerCheckpoint) -> None:
        self.lexer = lexer
        self.code = code
        self.start = checkpoint
        self.stack = list(checkpoint.stack)
        self.runs: list[StyleRun] = []
        self.marks: list[tuple[int, int, tuple[str, ...]]] = []

    def run(self) -> tuple[list[StyleRun], int, LexerCheckpoint]:
        code, states = self.code, _lexer_states(type(self.lexer))
        at, size = self.start.position, len(code)
        while at < size:
            for match_at, action, new_state in states[self.stack[-1]]:
                if match := match_at(code, at):
                    self._run_action(action, match)
                    at = match.end()
                    self._change_state(new_state)
                    break
            else:
                if code[at] == "\n":
                    self.stack = ["root"]
                at += 1
            if code[at - 1] == "\n" and (not self.marks or at > self.marks[-1][0]):
                self.marks.append((at, len(self.runs), tuple(self.stack)))
        return self._result()

    def _run_action(self, action: Any, match: Any) -> None:
        if action is None:
            return
        if isinstance(action, tuple):  # a token
            self._add_run(match.start(), action, match.group())
        else:
            for at, token, value in action(self.lexer, match):
                self._add_run(at, token, value)

    def _add_run(self, at: int, token: Any, value: str) -> None:
        key = _token_style(token)
        if key and value and not value.isspace():
            self.runs.append((at, at + len(value), key))

    def _change_state(self, new_state: Any) -> None:
        stack = self.stack
        if new_state is None:
            return
        if isinstance(new_state, int):
            del stack[max(1, len(stack) - abs(new_state)) :]
            return
        for state in new_state if isinstance(new_state, tuple) else (new_state,):
            if state == "#pop":
                del stack[max(1, len(stack) - 1) :]
            elif state == "#push":
                stack.append(stack[-1])
            else:
                stack.append(state)

    def _result(self) -> tuple[list[StyleRun], int, LexerCheckpoint]:
        last_line = self.code.rfind("\n") + 1
        safe = self.code.rfind("\n", 0, max(0, last_line - 1)) + 1
        for at, count, stack in reversed(self.marks):
            if at <= safe:
                return self.runs, count, LexerCheckpoint(at, stack)
        return self.runs, 0, self.start
