"""Finds tests that have a title, by the calls that each language uses, in the text.

For a grammar a test is an ordinary call, and often in places that the tree walk skips."""

import re
from collections.abc import Callable

from tools.filemap.language_description import FoundSymbol
from tools.filemap.one_line_text import (
    MAX_STORED_SYMBOL_NAME_CHARS,
    shorten_to_one_line,
    strip_symbol_name_quotes,
)
from tools.filemap.scanners.source_lines import SourceRowCounter

_MAX_TITLED_TESTS = 5000
_CLOSING_TOKENS_REGEX = rb"(?:[)}\]]|end\b)"
_CLOSING_TOKEN_PATTERN = re.compile(_CLOSING_TOKENS_REGEX)
_INNER_QUOTES_PATTERN = re.compile(r"(?<=\s)\"|\"(?=\s)")
_OPENING_TOKEN_PATTERN = re.compile(rb"(?:[({\[]|\bbegin)[ \t]*(?:(?:#|//|--)[^\n]*)?\r?$")


def find_titled_tests(
    source: bytes, titles: re.Pattern[bytes], is_in_string_or_comment: Callable[[int], bool]
) -> list[FoundSymbol]:
    """Returns the titled tests of a source as symbols. `is_said` says whether a position is within a string or a
    comment."""
    found: list[FoundSymbol] = []
    rows = SourceRowCounter(source)
    for match in titles.finditer(source):
        start = match.start("word")
        if is_in_string_or_comment(start):
            continue
        word = " ".join(match["word"].decode().split())
        said = strip_symbol_name_quotes(
            shorten_to_one_line(
                (match["title"] or b"").decode("utf-8", "replace"), MAX_STORED_SYMBOL_NAME_CHARS
            )
        )
        name = f"{word} {said}".strip() if word else _INNER_QUOTES_PATTERN.sub("", said)
        row = rows.row_of(start)
        margin = source.rfind(b"\n", 0, start) + 1
        end = _find_test_end(
            source, margin, match.end("title") if match["title"] else match.end(), is_in_string_or_comment
        )
        last = row + source.count(b"\n", start, end)
        found.append(FoundSymbol(name, "test", start, row, last, signature=name, node_type="test"))
        if len(found) >= _MAX_TITLED_TESTS:
            break
    return found


def _indent_of_line_at(source: bytes, start: int) -> int:
    line = source[start : start + 400]
    return len(line) - len(line.lstrip(b" \t"))


def _end_of_line_at(source: bytes, start: int) -> int:
    end = source.find(b"\n", start)
    return end if end >= 0 else len(source)


def _find_test_end(
    source: bytes, line: int, title_end: int, is_in_string_or_comment: Callable[[int], bool]
) -> int:
    """Returns the end of a titled test: of the line that closes its call at the same margin, otherwise of the last
    deeper line."""
    first, margin, end = (
        line,
        source[line : line + _indent_of_line_at(source, line)],
        _end_of_line_at(source, title_end),
    )
    while _OPENING_TOKEN_PATTERN.search(source, max(line, end - 400), end) is not None:
        closers = re.compile(rb"\n" + margin + _CLOSING_TOKENS_REGEX).finditer(source, end)
        closer = next((each for each in closers if not is_in_string_or_comment(each.end() - 1)), None)
        if closer is None:
            break
        line, end = closer.start() + 1, _end_of_line_at(source, closer.end())
    else:
        if line > first:
            return end
    is_first = source[first + len(margin) : first + len(margin) + 1] not in b",[("
    return _find_test_end_by_indentation(source, len(margin), end, has_closer=is_first)


def _find_test_end_by_indentation(source: bytes, margin: int, end: int, *, has_closer: bool) -> int:
    """Returns the end of a titled test by indentation: of the last line that is indented deeper, and of a closing line
    after it."""
    at = end
    while at < len(source):
        below = at + 1
        at = _end_of_line_at(source, below)
        if not source[below:at].strip():
            continue
        if (here := _indent_of_line_at(source, below)) <= margin:
            return (
                at
                if has_closer and here == margin and _CLOSING_TOKEN_PATTERN.match(source, below + here)
                else end
            )
        end = at
    return end


def add_test_symbols(drafts: list[FoundSymbol], tests: list[FoundSymbol]) -> list[FoundSymbol]:
    """Adds titled tests to a file's symbols: each is attached to the symbol around it, and symbols inside a test to
    that test."""
    if not tests:
        return drafts
    first_test = len(drafts)
    drafts = [*drafts, *tests]
    order = sorted(range(len(drafts)), key=lambda at: (drafts[at].start, -drafts[at].end_row, at))
    open_: list[int] = []
    for at in order:
        draft = drafts[at]
        while open_ and drafts[open_[-1]].end_row < draft.start_row:
            open_.pop()
        around = open_[-1] if open_ else -1
        if at >= first_test:
            draft.parent = around
            if around >= 0:
                draft.end_row = min(draft.end_row, drafts[around].end_row)
        elif around >= first_test:
            above = draft.parent
            if above < 0 or drafts[above].start < drafts[around].start:
                draft.parent = around
        open_.append(at)
    return drafts


_TITLE_LITERAL_REGEX = rb"(?P<title>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"


def _make_test_call_pattern(
    words: str, title: bytes = _TITLE_LITERAL_REGEX, *, before: bytes = b"", behind: bytes = b""
) -> re.Pattern[bytes]:
    """Returns a regular expression for a test call at the beginning of a line: one of the words, and a title."""
    either = b"|".join(re.escape(word.encode()) for word in sorted(words.split(), reverse=True))
    return re.compile(
        rb"^[ \t]*" + before + rb"(?P<word>" + either + rb")(?![\w.])[ \t]*" + title + behind, re.M
    )


_QUOTED_TEXT_PATTERN_SOURCE = rb"\"(?:[^\"\\\n]|\\.)*\""

TEST_TITLE_PATTERN_BY_LANGUAGE = {
    "bash": _make_test_call_pattern("@test", behind=rb"[ \t]*\{"),
    "dart": _make_test_call_pattern(
        "group test testWidgets blocTest", rb"\(\s*" + _TITLE_LITERAL_REGEX, behind=rb"\s*,"
    ),
    "go": re.compile(
        rb"^[ \t]*(?P<word>[a-z]\w*\.Run)\([ \t]*(?P<title>"
        + _QUOTED_TEXT_PATTERN_SOURCE
        + rb"|`[^`\n]*`),[ \t]*func\b",
        re.M,
    ),
    "haskell": _make_test_call_pattern(
        "describe context it specify prop xit xdescribe testCase testGroup testProperty",
        before=rb"(?:[\w']+[ \t]*=[ \t]*)?(?:[,\[(][ \t]*)?",
    ),
    "julia": re.compile(
        rb"^[ \t]*(?P<word>@(?:safe)?testset)\b(?:[^\n\"#]*(?P<title>"
        + _QUOTED_TEXT_PATTERN_SOURCE
        + rb"))?",
        re.M,
    ),
    "lua": _make_test_call_pattern(
        "describe context it insulate expose pending spec test",
        rb"\(?\s*(?P<title>" + _QUOTED_TEXT_PATTERN_SOURCE + rb"|'(?:[^'\\\n]|\\.)*'|\[\[[^\]\n]*\]\])",
        behind=rb"\s*,\s*function\b",
    ),
    "perl": _make_test_call_pattern(
        "subtest describe context it",
        rb"\(?\s*(?P<title>" + _QUOTED_TEXT_PATTERN_SOURCE + rb"|'(?:[^'\\\n]|\\.)*'|\w+)",
        behind=rb"\s*(?:=>|,)\s*sub\b",
    ),
    "powershell": re.compile(
        rb"^[ \t]*(?P<word>(?i:describe|context|it))[ \t]+(?:-Name[ \t]+)?"
        rb"(?P<title>\"(?:[^\"`\n]|`.|\"\")*\"|'(?:[^'\n]|'')*')(?=[^\n]*[{(`])",
        re.M,
    ),
    "scala": re.compile(
        rb"^[ \t]*(?:(?P<word>(?P<called>test|property|describe|it|they|suite|feature|scenario|Feature|Scenario)(?=\()"
        rb"|(?:it|they)[ \t]+(?:should|must|can)(?=[ \t]+\")|)(?:\(\s*|[ \t]+)?"
        rb"(?P<title>"
        + _QUOTED_TEXT_PATTERN_SOURCE
        + rb"(?:[ \t]+(?:should|must|can)[ \t]+"
        + _QUOTED_TEXT_PATTERN_SOURCE
        + rb")?)"
        rb"(?(called)(?<=\")[ \t]*[,)]|(?=[ \t]+(?:(?:should|must|can)[ \t]*\{"
        rb"|(?:when|which|that|in|ignore|is|taggedAs|>>)[ \t(]))))",
        re.M,
    ),
}
"""Patterns that find titled tests, by language, with the groups `word` and `title`. Languages that are not listed
have rules for tests in their grammar's description."""
