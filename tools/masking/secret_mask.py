"""Masks the secrets in a text: known values, values with the shape of a secret, private keys.

Pure. The session decides which values are known, and where a text comes from."""

import bisect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.masking.encoded_secret_forms import (
    MIN_SECRET_CHARS,
    KnownSecret,
    base64_and_hex_forms,
    encoded_secret_forms,
    is_distinctive_secret,
)
from tools.masking.escaped_secret_values import EscapedValueMatcher, is_written_in_one_way
from tools.masking.pem_private_keys import BASE64_OF_PEM_BEGIN, PEM_PRIVATE_KEY_LITERAL, find_private_keys
from tools.masking.secret_marks import SECRET_MARK_PATTERN, SECRET_MARK_PREFIX, SecretMarker
from tools.masking.secret_shapes import (
    SECRET_SHAPES,
    SecretShape,
    compile_secret_shape,
    is_placeholder_secret,
)
from tools.masking.text_without_line_breaks import (
    WRAPPED_LINE_BREAK_PATTERN,
    TextWithoutLineBreaks,
    is_long_word,
    is_part_of_long_word,
    join_wrapped_lines,
)

_TERMINAL_ESCAPE_PATTERN = lazy_regex(
    r"[\x1b␛](?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b␇␛\n]*(?:[\x07␇]|[\x1b␛]\\)|[()][0-9A-B]|[=>78])"
)
"""Matches a terminal escape sequence, also if its control characters are replaced by Unicode pictures."""
_ALPHANUMERIC_CODE_REGEX = "(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])"
_NEEDLESS_ESCAPE_PATTERNS = {
    "%": lazy_regex(f"%{_ALPHANUMERIC_CODE_REGEX}"),
    "\\": lazy_regex(rf"\\(?:x|u00|u\{{){_ALPHANUMERIC_CODE_REGEX}|\\(?:05[56]|06[0-7]|07[01]|1[0-7][0-7])"),
    "&#": lazy_regex(
        rf"&#0*(?:4[5689]|5[0-7]|6[5-9]|[78]\d|90|9[57-9]|1[01]\d|12[0-2]);|&#[xX]0*{_ALPHANUMERIC_CODE_REGEX};"
    ),
}
"""Match letters, digits and `-_.` that are written as character codes, by the literal that such a code begins with.
Programs have no need to write them so: nearly all texts contain none and need no further check."""
_CHARACTER_CODE_PATTERN = lazy_regex(
    r"%([0-9A-Fa-f]{2})|(?<!\\)\\++(?:(?:x|u00|u\{)([0-9A-Fa-f]{2})\}?|([0-3][0-7]{2}))"
    r"|&#0*(\d{2,3});|&#[xX]0*([0-9A-Fa-f]{2});"
)
"""Matches a character that is written as a code. A run of backslashes is matched as a whole, so that a text of many
backslashes takes no longer than others."""
_NUMBER_BASE_BY_CODE_GROUP = (0, 16, 16, 8, 10, 16)
_WORD_RUN_PATTERN = lazy_regex(r"[\w.+/=-]*", re.ASCII)
_SECRET_ANCHOR_CHARS = 16
"""The number of characters of a known value that are searched for first; a longer part is found faster."""
_ENCODED_SECRET_ANCHOR_CHARS = 24
_MIN_WRAPPED_PIECE_CHARS = 8
_MAX_ESCAPED_CHARACTER_LENGTH = 16
"""The maximum number of characters in which programs write a single one (an escape or entity)."""
_MAX_LINES_OF_WRAPPED_SECRET = 6
MAX_CHARS_SEARCHED_AROUND_CUT = 8 << 10
"""The number of characters before and behind a border that are searched for a secret around it."""


class SecretSpan(msgspec.Struct, frozen=True, order=True):
    start: int
    end: int
    kind: str


class UserSecretPattern(msgspec.Struct, frozen=True):
    """A regular expression for secrets that the user has defined."""

    kind: str
    pattern: "re.Pattern[str]"


class MaskedText(msgspec.Struct, frozen=True):
    text: str
    found: tuple[tuple[str, str], ...] = ()
    """The marks in the text, each with the secret that it replaces."""


class _KnownSecretsText(msgspec.Struct, frozen=True):
    name: str
    text: str


class SecretMask:
    """Masks the secrets in texts, with the secrets known at one moment; a new mask is made when more are known."""

    def __init__(
        self,
        marker: SecretMarker,
        *,
        known: Iterable[KnownSecret] = (),
        named: Iterable[KnownSecret] = (),
        own: Iterable[UserSecretPattern] = (),
        ignored: Collection[str] = (),
        as_bytes: bool = False,
        masks_words: bool = False,
    ) -> None:
        """Creates a mask. `named` values are short or common words, which are masked only behind their name.
        `ignored` holds digests of false alarms. `as_bytes` is for texts in which each character stands for one
        byte. With `masks_words`, known values that are ordinary words are masked too."""
        self.marker = marker
        self._as_bytes = as_bytes
        self._masks_words = masks_words
        self._own_marks = tuple(own)
        self._ignored = frozenset(ignored)
        self._names: dict[str, str] = {}
        self._texts_by_head: dict[str, list[_KnownSecretsText]] = {}
        self._written_values: list[tuple[str, EscapedValueMatcher]] = []
        self.longest_form = 0
        """The number of characters of the longest form in which a known value can occur."""
        self._known_values: list[tuple[str, EscapedValueMatcher]] = []
        for one in known:
            self._add_known_value(one, as_bytes=as_bytes)
        values = self._known_values
        self._longest_writing = _MAX_ESCAPED_CHARACTER_LENGTH * max(
            (len(value) for value, _ in values), default=0
        )
        self._start_pattern = re.compile("|".join(dict.fromkeys(written.start for _, written in values)))
        self._named_secrets = tuple(
            (one.name, one.value.encode("utf-8", "replace").decode("latin-1") if as_bytes else one.value)
            for one in dict.fromkeys(named)
        )
        _shape_literals()  # made here, where a thread makes the mask, and not with the first text

    def _add_known_value(self, one: KnownSecret, *, as_bytes: bool) -> None:
        is_known = (
            len(one.value) >= MIN_SECRET_CHARS if self._masks_words else is_distinctive_secret(one.value)
        )
        if one.value in self._names or not is_known:
            return
        self._names[one.value] = one.name
        if self.marker.digest(one.value) in self._ignored:
            return
        texts: tuple[str, ...] = (one.value,)
        written_value = EscapedValueMatcher(one.value, as_bytes=as_bytes)
        self._known_values.append((one.value, written_value))
        if not one.is_plain:
            texts = (
                base64_and_hex_forms(one.value) if written_value.anchor else encoded_secret_forms(one.value)
            )
            if written_value.anchor and not is_written_in_one_way(one.value):
                self._written_values.append((one.name, written_value))
        for text in texts:
            written = text.encode("utf-8", "replace").decode("latin-1") if as_bytes else text
            written = join_wrapped_lines(written)  # as in the text that is searched
            needle = _KnownSecretsText(one.name, written)
            self.longest_form = max(self.longest_form, len(written))
            size = _SECRET_ANCHOR_CHARS if text == one.value else _ENCODED_SECRET_ANCHOR_CHARS
            self._texts_by_head.setdefault(written[:size], []).append(needle)

    def mask_text(self, text: str, *, is_within_key: bool = False) -> MaskedText:
        spans = self.secret_spans(text, is_within_key=is_within_key)
        if not spans:
            return MaskedText(text)
        out: list[str] = []
        found: dict[str, str] = {}
        at = 0
        for span in _merged_spans(spans, text):
            secret = text[span.start : span.end]
            escapes = _TERMINAL_ESCAPE_PATTERN.findall(secret) if _has_escapes(secret) else []
            bare = _TERMINAL_ESCAPE_PATTERN.sub("", secret) if escapes else secret
            if self._as_bytes and not bare.isascii():
                bare = bare.encode("latin-1").decode("utf-8", "replace")
            mark = self.marker.mark(self._names.get(bare, span.kind), bare)
            if mark.rsplit(":", 1)[1][:-1] in self._ignored:
                continue
            found[mark] = secret
            colours = (escape for escape in escapes if escape[1] != "]")
            out += (text[at : span.start], mark, *colours)
            at = span.end
        out.append(text[at:])
        return MaskedText("".join(out), tuple(found.items()))

    def replace_secrets(self, text: str, cover: str) -> str:
        """Returns a text in which all secrets are replaced by the same text, for uses in which a mark is not wanted."""
        spans = self.secret_spans(text)
        for span in reversed([*_merged_spans(spans, text)] if spans else []):
            text = f"{text[: span.start]}{cover}{text[span.end :]}"
        return text

    def has_nothing_to_mask(self, texts: Iterable[str]) -> bool:
        """Returns whether none of these texts has a secret or a mark, checked all at once; otherwise each text has to
        be masked by itself."""
        together = "\n".join(texts)
        return SECRET_MARK_PREFIX not in together and not self.secret_spans(together)

    def secret_spans(self, text: str, *, is_within_key: bool = False) -> list[SecretSpan]:
        """Returns the spans of the secrets in a text, unordered; they may overlap."""
        if not _has_escapes(text):
            return self._spans_as_meant(text, is_within_key)
        bare = _without_terminal_escapes(text)
        # A title or the address of a link, which the first search leaves out.
        inside = self._spans_as_meant(text, is_within_key) if "\x1b]" in text or "␛]" in text else []
        return inside + [
            SecretSpan(bare.original_position(one.start), bare.original_position(one.end - 1) + 1, one.kind)
            for one in self._spans_as_meant(bare.text, is_within_key)
        ]

    def find_unfinished_secret_start(self, text: str, end: int) -> int:
        """Returns the first position from which a known value continues, or may continue, after `end`; `end` if
        there is none. The position is never within a secret."""
        begin = max(0, end - self._longest_writing)
        if not self._known_values:
            return end
        joined = TextWithoutLineBreaks(text[begin:])
        border = len(join_wrapped_lines(text[begin:end]))
        if not self._start_pattern.search(joined.text, 0, border):
            return end
        start = min(
            written.find_start_crossing_border(
                joined.text, max(0, border - _MAX_ESCAPED_CHARACTER_LENGTH * len(value)), border
            )
            for value, written in self._known_values
        )
        if start == border:
            return end
        return self.find_start_outside_of_secrets(text, begin + joined.original_position(start))

    def find_start_outside_of_secrets(
        self, text: str, cut: int, *, reach: int = MAX_CHARS_SEARCHED_AROUND_CUT, is_line_start: bool = False
    ) -> int:
        """Returns a position, or the beginning of the secret within which it is, or that of its line. `reach`: how
        far around the position is searched."""
        begin = max(0, cut - reach)
        for span in sorted(self.secret_spans(text[begin : cut + reach]), reverse=True):
            if begin + span.start < cut < begin + span.end:
                cut = begin + span.start
                if is_line_start:
                    cut = text.rfind("\n", 0, cut) + 1
        return cut

    def mentions_secret_name(self, text: str) -> bool:
        """Returns whether a text contains the name of one of the secrets that are masked only behind their names."""
        return any(name in text for name, _ in self._named_secrets)

    def _spans_as_meant(self, text: str, is_within_key: bool) -> list[SecretSpan]:
        """Returns the spans of secrets in a text as it is, and in the text that results when character codes are
        decoded."""
        found = self._spans_as_written(text, is_within_key)
        meant = _with_written_characters(text)
        if meant is not None:
            found += [
                SecretSpan(meant.original_position(one.start), meant.original_position(one.end), one.kind)
                for one in self._spans_as_written(meant.text, is_within_key)
            ]
        return found

    def _spans_as_written(self, text: str, is_within_key: bool) -> list[SecretSpan]:
        joined = TextWithoutLineBreaks(text)
        found: list[SecretSpan] = [*self._known_spans(joined), *find_secrets_by_shape(text, joined)]
        if is_within_key or PEM_PRIVATE_KEY_LITERAL in text or BASE64_OF_PEM_BEGIN in joined.words:
            found += [
                SecretSpan(start, end, "private-key")
                for start, end in find_private_keys(text, is_within=is_within_key).spans
            ]
        found += self._named_spans(text)
        for own in self._own_marks:
            group = 1 if own.pattern.groups else 0
            for match in own.pattern.finditer(text):
                if match[group]:
                    found.append(SecretSpan(*match.span(group), own.kind))
        return found

    def _named_spans(self, text: str) -> Iterator[SecretSpan]:
        for name, value in self._named_secrets:
            if value not in text or name not in text:
                continue
            behind = rf"(?<![\w.]){re.escape(name)}[\"']?\s*[=:]?\s*[\"'`]?({re.escape(value)})(?!\w)"
            for found in re.finditer(behind, text):
                yield SecretSpan(*found.span(1), name)

    def _known_spans(self, joined: TextWithoutLineBreaks) -> Iterator[SecretSpan]:
        for anchor, needles in self._texts_by_head.items():
            for at in _occurrences(joined, anchor, is_long_word(anchor)):
                for needle in needles:
                    if joined.text.startswith(needle.text, at):
                        yield SecretSpan(*joined.original_span(at, at + len(needle.text)), needle.name)
        for name, value in self._written_values:
            for at in _occurrences(joined, value.anchor, is_long_word(value.anchor)):
                if span := value.find_value_around_anchor(joined.text, at):
                    yield SecretSpan(*joined.original_span(*span), name)


def _has_escapes(text: str) -> bool:
    return "\x1b" in text or "␛" in text


def find_secrets_by_shape(text: str, joined: TextWithoutLineBreaks) -> Iterator[SecretSpan]:
    """Yields secrets found by their shape; `joined` is the text without line breaks."""
    missing = {sign for sign in "-_.:/ =" if sign not in text}
    for shape, literal, is_in_words in _shape_literals():
        if missing.isdisjoint(literal):
            for at in _occurrences(joined, literal, is_in_words):
                yield from _match_secret_shape(text, joined.original_position(at), shape)


@cache
def _shape_literals() -> tuple[tuple[SecretShape, str, bool], ...]:
    """Returns the literals with which secret shapes begin, each with whether it consists of characters of long
    words."""
    return tuple(
        [(shape, one, is_part_of_long_word(one)) for shape in SECRET_SHAPES for one in shape.literals]
    )


def _occurrences(joined: TextWithoutLineBreaks, piece: str, is_in_words: bool) -> Iterable[int]:
    """Returns the positions of a literal in a joined text. Most literals do not occur, which is checked first."""
    return (
        joined.find_occurrences(piece, is_in_words)
        if piece in (joined.words if is_in_words else joined.text)
        else ()
    )


def _match_secret_shape(text: str, at: int, shape: SecretShape) -> Iterator[SecretSpan]:
    if shape.needs_word_start and _is_in_word(text, at):
        return
    pattern = compile_secret_shape(shape.pattern)
    found = pattern.match(text, at)
    if found is None:
        if shape.may_wrap:
            yield from _match_wrapped_shape(text, at, shape)
        return
    group = 1 if pattern.groups else 0
    secret = found[group]
    if is_placeholder_secret(secret) or not shape.is_secret(secret):
        return
    start, end = found.span(group)
    yield SecretSpan(start, _wrapped_end(text, end) if shape.may_wrap else end, shape.kind)


def _is_in_word(text: str, at: int) -> bool:
    r"""Returns whether a match begins inside of a word; escapes before it, such as `\n` in JSON and `%3D` in URLs, are
    no part of the word."""
    if not at or not text[at - 1].isascii() or not (text[at - 1].isalnum() or text[at - 1] == "_"):
        return False
    if text[at - 1] in "nrt" and at > 1 and text[at - 2] == "\\":
        return False
    return not (at > 2 and text[at - 3] == "%" and re.fullmatch("[0-9A-Fa-f]{2}", text[at - 2 : at]))


def _match_wrapped_shape(text: str, at: int, shape: SecretShape) -> Iterator[SecretSpan]:
    """Yields a secret of a known shape that continues on the next lines."""
    pieces: list[tuple[int, int]] = []
    start, joined = at, ""
    for _ in range(_MAX_LINES_OF_WRAPPED_SECRET):
        run = _WORD_RUN_PATTERN.match(text, start)
        end = run.end() if run else start
        if end == start:
            return
        pieces.append((start, end))
        joined += text[start:end]
        if len(pieces) > 1:
            found = compile_secret_shape(shape.pattern).match(joined)
            if found is not None and not is_placeholder_secret(found[0]) and shape.is_secret(found[0]):
                left = found.end()
                for begin, stop in pieces:
                    if left <= stop - begin:
                        yield SecretSpan(at, begin + left, shape.kind)
                        return
                    left -= stop - begin
        gap = WRAPPED_LINE_BREAK_PATTERN.match(text, end)
        if gap is None:
            return
        start = gap.end()


def _wrapped_end(text: str, end: int) -> int:
    """Returns the end of a wrapped secret, with the following lines that consist of one long word of letters and
    digits."""
    for _ in range(_MAX_LINES_OF_WRAPPED_SECRET):
        gap = WRAPPED_LINE_BREAK_PATTERN.match(text, end)
        if gap is None:
            return end
        run = _WORD_RUN_PATTERN.match(text, gap.end())
        stop = run.end() if run else gap.end()
        piece = text[gap.end() : stop]
        is_line = stop >= len(text) or text[stop] in "\r\n"
        is_random = any(one.isdigit() for one in piece) and any(one.isalpha() for one in piece)
        if (
            not is_line
            or len(piece) < _MIN_WRAPPED_PIECE_CHARS
            or not is_random
            or "/" in piece
            or "." in piece[:-1]
        ):
            return end
        end = stop
    return end


def _merged_spans(spans: Iterable[SecretSpan], text: str) -> Iterator[SecretSpan]:
    """Yields the spans of secrets in order, merged where they overlap, one for each line; spans within a mark are
    dropped."""
    marks = (
        [found.span() for found in SECRET_MARK_PATTERN.finditer(text)] if SECRET_MARK_PREFIX in text else []
    )
    last: SecretSpan | None = None
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if any(start < span.end and span.start < end for start, end in marks):
            continue
        if last is not None and span.start < last.end:
            if span.end > last.end:
                last = SecretSpan(last.start, span.end, last.kind)
            continue
        if last is not None:
            yield from _lines_of_span(last, text)
        last = span
    if last is not None:
        yield from _lines_of_span(last, text)


def _lines_of_span(span: SecretSpan, text: str) -> Iterator[SecretSpan]:
    start = span.start
    for gap in WRAPPED_LINE_BREAK_PATTERN.finditer(text, span.start, span.end):
        if gap.start() > start:
            yield SecretSpan(start, gap.start(), span.kind)
        start = gap.end()
    if start < span.end:
        yield SecretSpan(start, span.end, span.kind)


class _MeantText:
    """A text in which escapes are replaced by the characters that they stand for, with a mapping of positions to
    the original."""

    def __init__(
        self, text: str, escapes: Iterable[re.Match[str]], meaning: Callable[[re.Match[str]], str]
    ) -> None:
        self._starts, self._shifts = [0], [0]
        kept: list[str] = []
        at = length = 0
        for found in escapes:
            meant = meaning(found)
            kept += (text[at : found.start()], meant)
            length += found.start() - at + len(meant)
            at = found.end()
            if self._starts[-1] == length:
                self._shifts[-1] = at - length
            else:
                self._starts.append(length)
                self._shifts.append(at - length)
        kept.append(text[at:])
        self.text = "".join(kept)

    def original_position(self, at: int) -> int:
        return at + self._shifts[bisect.bisect_right(self._starts, at) - 1]


def _without_terminal_escapes(text: str) -> _MeantText:
    return _MeantText(text, _TERMINAL_ESCAPE_PATTERN.finditer(text), lambda found: "")


def _with_written_characters(text: str) -> _MeantText | None:
    """Returns the text with character codes decoded; None if it has no codes for characters that need none."""
    if not any(
        literal in text and escape.search(text) for literal, escape in _NEEDLESS_ESCAPE_PATTERNS.items()
    ):
        return None
    return _MeantText(text, _CHARACTER_CODE_PATTERN.finditer(text), _character)


def _character(found: re.Match[str]) -> str:
    group = found.lastindex or 0
    return chr(int(found[group], _NUMBER_BASE_BY_CODE_GROUP[group]))


GetCurrentMask = Callable[[], "SecretMask | None"]
"""A function that returns the current mask; None if masking is off."""
