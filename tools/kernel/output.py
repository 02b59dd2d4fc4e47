"""Collects the outputs of one cell in order: text of any length in bounded memory, pictures, Markdown, trees."""

import base64
import binascii
import threading
from typing import Literal

import msgspec

from tools.files.artifacts import Artifacts
from tools.limits import MAX_BYTES, MAX_LINES
from tools.masking.mask import CurrentMask
from tools.running.rolling_output import OutputSnapshot, RollingOutput
from tools.text import final_output

OutputKind = Literal["text", "markdown", "html", "json", "image"]
_MAX_PIECES = 64


class OutputPiece(msgspec.Struct, kw_only=True):
    kind: OutputKind
    text: str = ""
    """The text, or the placeholder of a picture."""
    data: bytes = b""
    """The bytes of a picture."""


class CellOutputCollector:
    """Collects the output of one cell: written from the kernel's thread, read from the event loop's thread."""

    def __init__(self, artifacts: Artifacts, late: str = "", mask: CurrentMask = lambda: None) -> None:
        """`late` is output printed before the cell began. `mask` masks what is stored as an artifact."""
        self._whole = RollingOutput(artifacts, "eval", mask)
        self.total_bytes = self._lines = 0
        self._ends_line = True
        self._lock = threading.Lock()
        self._pieces: list[tuple[OutputKind, bytearray, bytes]] = []
        self._pictures = 0
        if late:
            self.write(f"[printed since the last cell]\n{late.rstrip()}\n[this cell]\n".encode())

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._is_complete:
                if not self._pieces or self._pieces[-1][0] != "text":
                    self._pieces.append(("text", bytearray(), b""))
                self._pieces[-1][1].extend(data)
            self._feed_text(data)

    def line(self, text: str) -> None:
        """Adds a text as whole lines of its own to the cell's output."""
        start = b"" if self._ends_line else b"\n"
        self.write(start + text.encode("utf-8", "replace") + b"\n")

    def show(self, kind: str, data: str) -> None:
        if kind.startswith("image/"):
            try:
                picture = base64.b64decode(data)
            except binascii.Error:
                return
            self._pictures += 1
            self._add("image", f"[picture {self._pictures}]", picture)
        elif kind == "html":
            from tools.kernel.html import html_to_text  # noqa: PLC0415  (only for values that are nothing but HTML)

            self._add("text", html_to_text(data))
        else:
            self._add("json" if kind == "json" else "markdown", data)

    def _add(self, kind: OutputKind, text: str, picture: bytes = b"") -> None:
        data = text.encode("utf-8", "replace")
        with self._lock:
            if picture or (self._is_complete and len(self._pieces) < _MAX_PIECES):
                self._pieces.append((kind, bytearray(data + b"\n" if kind == "text" else data), picture))
            self._feed_text((b"" if self._ends_line else b"\n") + data + b"\n")

    def _feed_text(self, data: bytes) -> None:
        if not data:
            return
        self.total_bytes += len(data)
        self._lines += data.count(b"\n")
        self._ends_line = data.endswith(b"\n")
        self._whole.feed(data)

    @property
    def _is_complete(self) -> bool:
        """Returns whether no output of the cell was cut, so that the pieces are complete."""
        return self.total_bytes <= MAX_BYTES and self._lines <= MAX_LINES

    def preview(self) -> str:
        """Returns the end of the cell's output so far, while the cell runs."""
        return self._whole.preview()

    def finish(self) -> OutputSnapshot:
        """Returns the output of an ended cell as text; what does not fit is in its artifact."""
        return self._whole.finish()

    def pieces(self) -> tuple[OutputPiece, ...]:
        """Returns the texts, pictures and values of the output in order, if nothing had to be cut; otherwise only the
        pictures."""
        with self._lock:
            kept = [one for one in self._pieces if self._is_complete or one[0] == "image"]
        return tuple(
            OutputPiece(
                kind=kind,
                text=final_output(bytes(data).decode("utf-8", "replace")),
                data=picture,
            )
            for kind, data, picture in kept
        )
