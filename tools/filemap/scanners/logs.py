"""Log files: spans of time with the levels in them."""

import re
from collections import Counter

from tools.filemap.language import FoundSymbol
from tools.filemap.scanners.lines import source_lines, text_of
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Deadline

_LEVEL = re.compile(
    rb"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|FATAL|SEVERE|PANIC|ALERT|EMERG)\b"
    rb"|\b(LOG|error|warning|fatal error|fatal):"
    rb"|\blevel\"?[=:]\s*\"?(trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)\b"
    rb"|\[(trace|debug|info|notice|warn|error|crit|alert|emerg)\]"
    rb"|^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ |^\d+ (silly|verbose|http|info|warn|error) "
    rb"|^(Traceback) \(most recent call last\)|^(panic): |^(Exception) in thread "
)
"""In capitals anywhere, else only where a level is meant: before a colon, as a field, in brackets, as a letter."""
_TIME = re.compile(
    rb"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    rb"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d|\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
)
_MESSAGE = re.compile(rb"\b(?:msg|message)\"?[=:]\s*\"((?:[^\"\\]|\\.)+)\"")
_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_ALIKE = {
    "warning": "warn",
    "err": "error",
    "crit": "critical",
    "severe": "error",
    "emerg": "emergency",
    "fatal error": "fatal",
    "i": "info",
    "w": "warn",
    "e": "error",
    "f": "fatal",
    "traceback": "error",
    "exception": "error",
}
_TRACEBACK = b"Traceback (most recent"
_RAISED = re.compile(rb"(?!Traceback\b)[A-Za-z_][\w.]*(?::|\s*$)")
_DIGIT = re.compile(rb"\d")
_LONGEST_TRACE = 2000
_CRASHES = (b"Traceback", b"panic", b"Exception")
_SERIOUS = ("error", "critical", "fatal", "panic", "alert", "emergency")
_SPANS = 40
_NAMED_ERRORS = 200


class _Span:
    """Some lines of a log in a row: their first and last time, their levels."""

    def __init__(self, draft: FoundSymbol) -> None:
        self._draft = draft
        self._levels: Counter[bytes] = Counter()
        self._first, self._last = b"", b""

    def add(self, line: bytes) -> tuple[str, bytes]:
        """The line's level when it is a serious one, and what it says."""
        head = line[:200]
        time = _TIME.search(head)
        if time is not None:
            self._last = time[0]
            self._first = self._first or time[0]
        level = _LEVEL.search(head)
        if level is None:
            return "", b""
        found = level[level.lastindex or 0]
        self._levels[found] += 1
        word = _word(found)
        if word not in _SERIOUS:
            return "", b""
        message = _MESSAGE.search(line)
        return word, message[1] if message is not None else line if found in _CRASHES else line[level.end() :]

    def finish(self) -> None:
        counts: Counter[str] = Counter()
        for found, count in self._levels.items():
            counts[_word(found)] += count
        self._draft.signature = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        first, last = text_of(self._first), text_of(self._last)
        self._draft.name = (first if first == last else f"{first} … {last}") or "no times"


def _word(found: bytes) -> str:
    word = found.decode("ascii", "replace").lower()
    return _ALIKE.get(word, word)


class _Trace:
    """A traceback goes on as long as its lines are indented; the next one says what was raised, and names it."""

    def __init__(self, draft: FoundSymbol, line: bytes) -> None:
        self._draft = draft
        self._margin = _DIGIT.sub(b"0", line[: line.find(_TRACEBACK)])
        """What a collector of logs puts before each line."""

    def goes_on(self, line: bytes, row: int) -> bool:
        draft, margin = self._draft, self._margin
        if margin and _DIGIT.sub(b"0", line[: len(margin)]) == margin:
            line = line[len(margin) :]
        if not line.strip() or row - draft.start_row > _LONGEST_TRACE:
            return False
        draft.end_row = row
        if line[:1].isspace():
            return True
        if _RAISED.match(line):
            draft.name = text_of(_COLOUR.sub(b"", line), 110)
        else:
            draft.end_row = row - 1
        return False


def scan_log(source: bytes, watch: Deadline) -> Scanned:
    """Spans of equal length with their time and the levels in them; serious lines by themselves inside."""
    total = source.count(b"\n") + (not source.endswith(b"\n"))
    size = max(50, -(-total // _SPANS))
    found = Nesting()
    span: _Span | None = None
    trace: _Trace | None = None
    row = 0
    for row, start, line in source_lines(source, watch):
        if span is None or row % size == 0:
            if span is not None:
                span.finish()
            span = _Span(found.open(0, "", "span", row, start))
        word, said = span.add(line)
        if trace is not None:
            trace = trace if trace.goes_on(line, row) else None
        if word and len(found.drafts) < _NAMED_ERRORS:
            name = text_of(_COLOUR.sub(b"", said), 110).lstrip(' .,:;|-]!"') or word
            made = found.leaf(name, word, row, start)
            if _TRACEBACK in line:
                trace = _Trace(made, line)
    if span is not None:
        span.finish()
    found.close(0, row)
    return Scanned(found.drafts)
