"""Masks output that arrives in pieces: a secret split between two pieces is masked as one.

Complete lines pass through at once. Held back are the unfinished line, lines on which a secret may continue, and
the last 8 KB of a line without end.
"""

from tools.lazy_patterns import lazy_regex
from tools.masking.pem_private_keys import BASE64_OF_PEM_BEGIN, PEM_PRIVATE_KEY_LITERAL, find_private_keys
from tools.masking.secret_mask import MAX_CHARS_SEARCHED_AROUND_CUT, GetCurrentMask, SecretMask
from tools.masking.secret_shapes import SECRET_SHAPE_LITERALS

_MAX_HELD_LINE_CHARS = 64 << 10
_MAX_HELD_LINES = 6
_MIN_CHARS_SEARCHED_AROUND_CUT = 512
_SECRET_TOKEN_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-.%\\"
_SECRET_INTRODUCERS = (
    "earer ",
    "&#",
    "asic ",
    "://",
    "ccess_key",
    "CCESS_KEY",
    "ccessKey",
    "AccountKey=",
    "SharedAccessKey=",
)

_SECRET_START_AT_END_PATTERN = lazy_regex(
    r"(?:&[\w#;]*|[%\\]+|[\xc2-\xf4][\x80-\xbf]{0,2}|-{1,5}(?:[A-Z][A-Z ]*)?|[a-z][a-z0-9+.-]*:/?|\d{6,}:[\w-]*)\Z"
)
"""Matches, at the end of a text, the possible beginning of an encoded character, of a private key, of an address,
or of a token that begins with a number."""


class MaskedStream:
    """Masks the secrets in a stream of bytes that arrives in pieces. Used from one thread at a time."""

    def __init__(self, mask_now: GetCurrentMask) -> None:
        """Creates the stream. `mask_now` is called for each piece and returns the current mask for bytes; None: no
        masking."""
        self._mask_now = mask_now
        self._held_text = ""
        self._is_within_key = False

    def mask_next_piece(self, piece: bytes) -> bytes:
        """Returns the masked bytes that may be passed on now, from this piece and earlier ones."""
        mask = self._mask_now()
        if mask is None and not self._held_text:
            return piece
        text = self._held_text + piece.decode("latin-1")
        if mask is None:
            self._held_text = ""
            return text.encode("latin-1")
        cut = _safe_end(mask, text, self._is_within_key)
        self._held_text = text[cut:]
        return self._masked(mask, text[:cut]) if cut else b""

    def mask_remaining_bytes(self) -> bytes:
        """Returns the held-back bytes at the end of the source."""
        mask, text = self._mask_now(), self._held_text
        self._held_text = ""
        return text.encode("latin-1") if mask is None else self._masked(mask, text)

    def flush_part_without_secrets(self) -> bytes:
        """Returns the held-back part of an unfinished line that cannot belong to a secret, such as progress dots,
        words or a question."""
        text = self._held_text
        mask = self._mask_now()
        if not text or mask is None or self._is_within_key or any(one in text for one in _SECRET_INTRODUCERS):
            return b""
        if mask.mentions_secret_name(text):
            return b""
        is_broken = text.endswith("\r") and _may_secret_continue(text, len(text))
        at = len((text[:-1] if is_broken else text).rstrip(_SECRET_TOKEN_CHARS))
        word = text[at:]
        if not any(one.isalnum() for one in word):
            at = len(text)
        if started := _SECRET_START_AT_END_PATTERN.search(text, max(0, at - 64), at):
            at = started.start()
        at = min(at, mask.find_unfinished_secret_start(text, len(text)))
        at = mask.find_start_outside_of_secrets(text, at)
        if PEM_PRIVATE_KEY_LITERAL in text or "\n" in text[:at] or "\x1b" in text[-256:]:
            return b""
        self._held_text = text[at:]
        return self._masked(mask, text[:at]) if at else b""

    def preview(self) -> bytes:
        """Returns the held-back bytes as they would be shown if nothing followed."""
        mask = self._mask_now()
        if mask is None or not self._held_text:
            return self._held_text.encode("latin-1")
        return mask.mask_text(self._held_text, is_within_key=self._is_within_key).text.encode("latin-1")

    def _masked(self, mask: SecretMask, text: str) -> bytes:
        within = self._is_within_key
        if within or PEM_PRIVATE_KEY_LITERAL in text or BASE64_OF_PEM_BEGIN in text:
            self._is_within_key = find_private_keys(text, is_within=within).is_open
        return mask.mask_text(text, is_within_key=within).text.encode("latin-1")


def _safe_end(mask: SecretMask, text: str, is_within_key: bool) -> int:
    """Returns the position up to which masked output may be passed on, because no secret can continue behind it."""
    end = text.rfind("\n") + 1
    if len(text) - end > _MAX_HELD_LINE_CHARS:
        return _safe_end_in_line(mask, text)
    if is_within_key:
        return _end_before_key(text, end)
    # A line that ends in a long word may be a secret broken by `fold`, whose rest is on the next line.
    reach = min(
        MAX_CHARS_SEARCHED_AROUND_CUT, max(_MIN_CHARS_SEARCHED_AROUND_CUT, mask.longest_form * 5 // 4)
    )
    lines = 0
    while end and _may_secret_continue(text, end):
        if lines >= _MAX_HELD_LINES and len(text) - end >= reach:
            if end < reach:
                return 0
            return mask.find_start_outside_of_secrets(text, end, reach=reach, is_line_start=True)
        end = text.rfind("\n", 0, end - 1) + 1
        lines += 1
    return mask.find_unfinished_secret_start(text, end)


def _end_before_key(text: str, end: int) -> int:
    """Returns the safe end of a text before a possible private key: its last two lines, which only the next line
    identifies, are held back."""
    before = text.rfind("\n", 0, max(0, end - 1)) + 1
    return end if "-----END" in text[before:end] else before


def _may_secret_continue(text: str, end: int) -> bool:
    begin = text.rfind("\n", 0, end - 1) + 1
    line = text[begin : end - 1].rstrip("\r")
    if PEM_PRIVATE_KEY_LITERAL in line or BASE64_OF_PEM_BEGIN in line:
        return True
    if not line or line[-1] not in _SECRET_TOKEN_CHARS:
        return False
    word = line[len(line.rstrip(_SECRET_TOKEN_CHARS)) :]
    return len(word) >= 8 and (len(word) >= 16 or any(literal in word for literal in SECRET_SHAPE_LITERALS))


def _safe_end_in_line(mask: SecretMask, text: str) -> int:
    """Returns the safe end in an unfinished line, which is never within a secret."""
    return mask.find_start_outside_of_secrets(text, len(text) - MAX_CHARS_SEARCHED_AROUND_CUT)
