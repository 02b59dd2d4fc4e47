"""Finds the keys of the outer levels of JSON with types and counts; accepts comments, trailing commas, JSON5 names and
quotes. No tree is built: for large data it would take twenty times the memory. Omitted values are skipped in small
windows, so that the interpreter is never blocked for long."""

import re

import msgspec

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.scan_result import OUTLINE_TIME_LIMIT_NOTE, ScannedOutline
from tools.filemap.scanners.source_lines import SourceRowCounter, decode_and_shorten_line

_MAX_JSON_SYMBOLS = 20_000
_LARGE_JSON_BYTES = 256 * 1024
_MAX_JSON_DEPTH, _MAX_LARGE_JSON_DEPTH = 8, 3
_MAX_LISTED_JSON_ITEMS = 40
"""The maximum length of a JSON list whose objects become symbols; longer lists are described by the shape of their
first object."""
_MAX_JSON_MEMBERS_SEARCHED_FOR_NAME = 6
"""The number of first members of a JSON object that are checked for one that names it."""
_JSON_KEYS_THAT_NAME_ITEMS = (b'"name"', b'"id"', b'"key"', b'"title"', b'"type"', b'"label"')
_JSON_MATCH_WINDOW_BYTES = 64 * 1024
"""The maximum number of bytes that one match of a pattern may cover."""
_JSON_VALUES_PER_DEADLINE_CHECK = 256

_JSON_STRING_REGEX = rb"(?:\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')"
_JSON_COMMENT_REGEX = rb"(?://[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
_JSON_BLANK_REGEX = rb"(?:\s++|" + _JSON_COMMENT_REGEX + rb")*+"
_JSON_SEPARATOR_REGEX = rb"(?:[\s,]++|" + _JSON_COMMENT_REGEX + rb")*+"
_JSON_BARE_WORD_REGEX = rb"[^\s,:\"'\[\]{}/]++"
_JSON_VALUE_START_REGEX = (
    rb"(?:(?P<open>[\[{])|(?P<string>"
    + _JSON_STRING_REGEX
    + rb")|(?P<word>"
    + _JSON_BARE_WORD_REGEX
    + rb")|(?P<quote>[\"']))"
)
_JSON_MEMBER_PATTERN = re.compile(
    rb"%b(?:(?P<close>[\]}])|(?P<key>%b|%b)%b:%b%b)"
    % (
        _JSON_SEPARATOR_REGEX,
        _JSON_STRING_REGEX,
        _JSON_BARE_WORD_REGEX,
        _JSON_BLANK_REGEX,
        _JSON_BLANK_REGEX,
        _JSON_VALUE_START_REGEX,
    ),
    re.S,
)
_JSON_LIST_ITEM_PATTERN = re.compile(
    rb"%b(?:(?P<close>[\]}])|%b)" % (_JSON_SEPARATOR_REGEX, _JSON_VALUE_START_REGEX), re.S
)
_JSON_SEPARATOR_PATTERN = re.compile(_JSON_SEPARATOR_REGEX, re.S)
_TOP_LEVEL_JSON_VALUE_PATTERN = re.compile(rb"%b%b" % (_JSON_BLANK_REGEX, _JSON_VALUE_START_REGEX), re.S)
_JSON_SCALARS_REGEX = (
    rb"[^\[\]{}\"'/]*+(?:(?:" + _JSON_STRING_REGEX + rb"|" + _JSON_COMMENT_REGEX + rb")[^\[\]{}\"'/]*+)*+"
)


def _balanced_brackets_regex(levels: int) -> bytes:
    """Returns the text of a regular expression for a bracketed JSON value with at most that many nested levels."""
    inside = _JSON_SCALARS_REGEX
    if levels:
        inside += rb"(?:%b%b)*+" % (_balanced_brackets_regex(levels - 1), _JSON_SCALARS_REGEX)
    return rb"[\[{]%b[\]}]" % inside


_SKIPPED_JSON_TEXT_PATTERN = re.compile(
    rb"(?P<plain>[^\[\]{}\"'/]*+)"
    rb"(?:(?P<value>%b|%b)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<quote>[\"'])|%b|/)?"
    % (_balanced_brackets_regex(4), _JSON_STRING_REGEX, _JSON_COMMENT_REGEX),
    re.S,
)
_IS_LIST_BY_OPENING_BRACKET = {b"[": True, b"{": False}
_IS_LIST_BY_CLOSING_BRACKET = {b"]": True, b"}": False}
_JSON_BOOLEAN_WORDS = (b"true", b"false")
_JSON_NUMBER_PATTERN = re.compile(rb"[-+]?(?:[.\d]|Infinity$|NaN$)")


class _OpenContainer(msgspec.Struct, gc=False):
    """A JSON list or object that the scan has entered and not left yet."""

    is_list: bool
    index: int
    """The index of the container's symbol, or of the symbol that contains it; -1 for none."""
    depth: int
    """The nesting depth of the container's members."""
    is_shown: bool = True
    """Whether the container's members become symbols."""
    is_nameless: bool = False
    """Whether the container is a list item for which no naming member was found yet."""
    count: int = 0
    first_type: str = ""
    """The JSON type of the container's first element."""
    first_item: int = -1
    """The index of the symbol of the container's first element, if that is an object; -1 for none."""
    first_symbol_count: int = -1
    """The number of symbols at the time when the container's first element ended."""
    is_cut_short: bool = False
    """Whether the container was not read to its end."""


def outline_json(source: bytes, watch: MapDeadline) -> ScannedOutline:
    found = _JsonScan(
        source, watch, _MAX_LARGE_JSON_DEPTH if len(source) > _LARGE_JSON_BYTES else _MAX_JSON_DEPTH
    )
    try:
        found.run()
    except FileMapTimeLimitReached:
        if not found.symbols:
            raise
        found.end_early()
        return ScannedOutline(found.symbols, notes=(OUTLINE_TIME_LIMIT_NOTE,))
    notes = ("it has syntax errors; keys near them may be missing",) if found.has_syntax_errors else ()
    return ScannedOutline(found.symbols, notes=notes)


class _JsonScan:
    def __init__(self, source: bytes, watch: MapDeadline, depth: int) -> None:
        self.source, self.watch, self.depth = source, watch, depth
        self.symbols: list[FoundSymbol] = []
        self.has_syntax_errors = False
        self._rows = SourceRowCounter(source)
        self._open_containers: list[_OpenContainer] = []
        self._position = self._steps = self._line_end = 0

    def run(self) -> None:
        """Scans one JSON value after the other; there may be several at the top level."""
        end = len(self.source)
        while self._position < end:
            self._check_deadline()
            frame = self._open_containers[-1] if self._open_containers else None
            if frame is None:
                self._scan_top_level_value()
            elif len(self.symbols) >= _MAX_JSON_SYMBOLS or (
                frame.is_list and frame.count > _MAX_LISTED_JSON_ITEMS
            ):
                self._skip_rest_of_container(frame)
            elif frame.is_list:
                self._scan_list_item(frame)
            else:
                self._scan_member(frame)
        if self._open_containers:
            self.has_syntax_errors = True
            while self._open_containers:
                self._close_container(end)

    def end_early(self) -> None:
        """Ends the JSON scan at the current position, because of the time limit: open containers have at least the
        counted members."""
        while self._open_containers:
            self._open_containers[-1].is_cut_short = True
            self._close_container(self._position)

    def _scan_top_level_value(self) -> None:
        match = _JSON_LIST_ITEM_PATTERN.match(
            self.source, self._position, self._position + _JSON_MATCH_WINDOW_BYTES
        )
        if match is None or match["close"] is not None:
            self._skip_unexpected_text()
            return
        mark = match["open"]
        if mark is None:
            self._skip_value(match)
            return
        self._position = match.end()
        is_list = _IS_LIST_BY_OPENING_BRACKET[mark]
        index = self._add_symbol("", "list", match.start("open"), -1) if is_list else -1
        self._open_containers.append(_OpenContainer(is_list, index, 0))

    def _match_next(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Returns the next match of a pattern; None if the match ended a container or was unexpected, which is
        handled."""
        match = pattern.match(self.source, self._position, self._position + _JSON_MATCH_WINDOW_BYTES)
        if match is None:
            self._skip_unexpected_text()
        elif match["close"] is not None:
            self._close_by_bracket(match)
        else:
            return match
        return None

    def _scan_member(self, frame: _OpenContainer) -> None:
        match = self._match_next(_JSON_MEMBER_PATTERN)
        if match is None:
            return
        key = match["key"]
        frame.count += 1
        if frame.is_nameless and frame.count <= _MAX_JSON_MEMBERS_SEARCHED_FOR_NAME:
            self._name_list_item(frame, key, match)
        mark = match["open"]
        if not frame.is_shown:
            self._skip_value(match)
        elif mark is None:
            start = match.start("key")
            kind = self._skip_value(match)
            self._add_symbol(_decode_json_key(key), "key", start, frame.index, kind, self._position)
        else:
            self._position = match.end()
            index = self._add_symbol(_decode_json_key(key), "key", match.start("key"), frame.index)
            is_shown = frame.depth + 1 < self.depth
            inner = _OpenContainer(
                _IS_LIST_BY_OPENING_BRACKET[mark], index, frame.depth + 1, is_shown=is_shown
            )
            self._open_containers.append(inner)
            if not is_shown:
                self._skip_rest_of_container(inner)

    def _name_list_item(self, frame: _OpenContainer, key: bytes, match: re.Match[bytes]) -> None:
        if match["string"] is not None and key in _JSON_KEYS_THAT_NAME_ITEMS:
            draft = self.symbols[frame.index]
            draft.name = f"{draft.name} {_decode_json_key(match['string'])}"
            frame.is_nameless = False

    def _scan_list_item(self, frame: _OpenContainer) -> None:
        """Scans the next item of a JSON list; objects in a short list become symbols, named by a member or by their
        number."""
        match = self._match_next(_JSON_LIST_ITEM_PATTERN)
        if match is None:
            return
        number = frame.count
        frame.count += 1
        if number == 0:
            frame.first_type = _json_type_of_match(match)
        if frame.count > _MAX_LISTED_JSON_ITEMS:
            self._keep_first_item_only(frame)
        elif match["open"] == b"{":
            self._position = match.end()
            index = self._add_symbol(f"#{number}", "item", match.start("open"), frame.index)
            is_shown = number == 0 or frame.depth + 1 < self.depth
            self._open_containers.append(_OpenContainer(False, index, frame.depth + 1, is_shown, True))
            if number == 0:
                frame.first_item = index
            return
        self._skip_value(match)

    def _keep_first_item_only(self, frame: _OpenContainer) -> None:
        """Keeps only the symbols of the first object in a long JSON list, as an example of its items."""
        del self.symbols[frame.first_symbol_count if frame.first_item >= 0 else frame.index + 1 :]
        if frame.first_item >= 0:
            self.symbols[frame.first_item].name = "#0"

    def _close_by_bracket(self, match: re.Match[bytes]) -> None:
        if _IS_LIST_BY_CLOSING_BRACKET[match["close"]] != self._open_containers[-1].is_list:
            self.has_syntax_errors = True
        self._position = match.end()
        self._close_container(self._position)

    def _close_container(self, end: int) -> None:
        frame = self._open_containers.pop()
        if frame.index >= 0:
            shape = _describe_container(frame)
            draft = self.symbols[frame.index]
            if draft.kind == "list":
                draft.name = shape
            else:
                draft.signature = shape
            draft.end_row = max(draft.start_row, self._rows.row_of(end - 1))
        if frame.first_item >= 0 and frame.count <= _MAX_LISTED_JSON_ITEMS and frame.depth + 1 >= self.depth:
            del self.symbols[frame.first_item + 1 : frame.first_symbol_count]
        around = self._open_containers[-1] if self._open_containers else None
        if around is not None and around.is_list and around.first_item == frame.index >= 0:
            around.first_symbol_count = len(self.symbols)

    def _skip_rest_of_container(self, frame: _OpenContainer) -> None:
        """Skips to the end of a JSON container, only counting its members."""
        source, at = self.source, self._position
        if not frame.count and frame.is_list:
            first = _TOP_LEVEL_JSON_VALUE_PATTERN.match(source, at, at + _JSON_MATCH_WINDOW_BYTES)
            frame.first_type = _json_type_of_match(first) if first is not None else ""
        nest = commas = 0
        is_pending, is_closed = False, False
        end = len(source)
        try:
            while at < end and not is_closed:
                self._check_deadline()
                step = _SKIPPED_JSON_TEXT_PATTERN.match(source, at, at + _JSON_MATCH_WINDOW_BYTES)
                assert step is not None  # the pattern may match nothing
                at = max(step.end(), at + 1)
                kind = step.lastgroup
                if not nest:
                    plain = step["plain"]
                    found = plain.count(b",")
                    if found:
                        commas += found
                        is_pending = bool(plain[plain.rfind(b",") + 1 :].strip())
                    elif not is_pending:
                        is_pending = bool(plain.strip())
                    is_pending = is_pending or kind in ("value", "open", "quote")
                if kind == "quote":
                    at = self._find_string_end(at - 1)
                elif kind == "open":
                    nest += 1
                elif kind == "close":
                    is_closed = not nest
                    nest -= 1
                    if is_closed and _IS_LIST_BY_CLOSING_BRACKET[step["close"]] != frame.is_list:
                        self.has_syntax_errors = True
        finally:
            self._position = at
            frame.count += commas + is_pending - (1 if frame.count and commas + is_pending else 0)
        if is_closed:
            self._close_container(at)

    def _skip_value(self, match: re.Match[bytes]) -> str:
        """Skips a JSON value and returns its type."""
        kind = _json_type_of_match(match)
        mark = match["open"]
        self._position = match.end()
        if mark is not None:
            inner = _OpenContainer(_IS_LIST_BY_OPENING_BRACKET[mark], -1, 0, is_shown=False)
            self._open_containers.append(inner)
            self._skip_rest_of_container(inner)
        elif match["quote"] is not None:
            self._position = self._find_string_end(match.start("quote"))
        elif not kind:
            self.has_syntax_errors = True
        return kind

    def _find_string_end(self, start: int) -> int:
        """Returns the end of a JSON string that exceeds a window; for one that never ends, the end of its line."""
        source, quote = self.source, self.source[start : start + 1]
        at = start + 1
        if self._line_end <= start:
            end = source.find(b"\n", at)
            self._line_end = end if end >= 0 else len(source)
        while (found := source.find(quote, at, self._line_end)) >= 0:
            self._check_deadline()
            before = found
            while before > start + 1 and source[before - 1] == 0x5C:
                before -= 1
            at = found + 1
            if (found - before) % 2 == 0:
                return at
        self.has_syntax_errors = True
        return self._line_end

    def _skip_unexpected_text(self) -> None:
        """Skips unexpected text of a JSON source, behind the permitted text between values."""
        after = _JSON_SEPARATOR_PATTERN.match(
            self.source, self._position, self._position + _JSON_MATCH_WINDOW_BYTES
        )
        if after is not None and after.end() > self._position:
            self._position = after.end()
            return
        self.has_syntax_errors = True
        match = _JSON_LIST_ITEM_PATTERN.match(
            self.source, self._position, self._position + _JSON_MATCH_WINDOW_BYTES
        )
        if match is None:
            self._position += 1
        elif match["close"] is not None:
            self._position = match.end()
        else:
            self._skip_value(match)

    def _check_deadline(self) -> None:
        self._steps += 1
        if self._steps % _JSON_VALUES_PER_DEADLINE_CHECK == 0:
            self.watch.raise_if_deadline_over()

    def _add_symbol(
        self, name: str, kind: str, start: int, parent: int, signature: str = "", end: int | None = None
    ) -> int:
        row = self._rows.row_of(start)
        last = self._rows.row_of(end - 1) if end is not None else row
        self.symbols.append(FoundSymbol(name, kind, start, row, last, parent, signature))
        return len(self.symbols) - 1


def _json_type_of_match(match: re.Match[bytes]) -> str:
    """Returns the JSON type of a matched value; empty if the match is none."""
    mark = match["open"]
    if mark is not None:
        return "array" if _IS_LIST_BY_OPENING_BRACKET[mark] else "object"
    word = match["word"]
    if word is None:
        return "string"
    if word in _JSON_BOOLEAN_WORDS:
        return "boolean"
    return "number" if _JSON_NUMBER_PATTERN.match(word) else "null" if word == b"null" else ""


def _describe_container(frame: _OpenContainer) -> str:
    count = f"at least {frame.count:,}" if frame.is_cut_short else f"{frame.count:,}"
    if not frame.is_list:
        return f"object of {count}"
    kind = frame.first_type
    return f"list of {count} {kind}s" if kind and frame.count != 1 else f"list of {count} {kind}".strip()


def _decode_json_key(text: bytes) -> str:
    return (
        decode_and_shorten_line(
            text[:MAX_STORED_SYMBOL_NAME_CHARS].strip(b"\"'"), MAX_STORED_SYMBOL_NAME_CHARS
        )
        or '""'
    )
