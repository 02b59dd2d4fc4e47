"""Collects the outputs of one cell in order: text of any length in bounded memory, pictures, Markdown, trees."""

import base64
import binascii
import threading
from typing import Literal

import msgspec

from tools.files.output_artifacts import OutputArtifacts
from tools.masking.secret_mask import GetCurrentMask
from tools.result_limits import MAX_TOOL_RESULT_BYTES, MAX_TOOL_RESULT_LINES
from tools.running.command_output_buffer import CommandOutputBuffer, CommandOutputSnapshot
from tools.text_sanitizing import render_final_output

CellOutputKind = Literal["text", "markdown", "html", "json", "image"]
_MAX_CELL_OUTPUT_PIECES = 64


class CellOutputPiece(msgspec.Struct, kw_only=True):
    kind: CellOutputKind
    text: str = ""
    """The text of the piece, or a placeholder for a picture."""
    data: bytes = b""
    """The bytes of the picture; empty for text."""


class CellOutputCollector:
    """Collects the output of one cell: written from the kernel's thread, read from the event loop's thread."""

    def __init__(
        self, artifacts: OutputArtifacts, late: str = "", mask: GetCurrentMask = lambda: None
    ) -> None:
        """Creates the collector. `late` is output that was printed before the cell began. `mask` masks secrets in
        what is stored as an artifact."""
        self._whole_text = CommandOutputBuffer(artifacts, "eval", mask)
        self.total_bytes = self._lines = 0
        self._ends_with_line_feed = True
        self._lock = threading.Lock()
        self._pieces: list[tuple[CellOutputKind, bytearray, bytes]] = []
        self._picture_count = 0
        if late:
            self.write_text(f"[printed since the last cell]\n{late.rstrip()}\n[this cell]\n".encode())

    def write_text(self, data: bytes) -> None:
        with self._lock:
            if self._is_complete:
                if not self._pieces or self._pieces[-1][0] != "text":
                    self._pieces.append(("text", bytearray(), b""))
                self._pieces[-1][1].extend(data)
            self._feed_text(data)

    def add_line(self, text: str) -> None:
        """Adds a text to the cell's output as separate lines."""
        start = b"" if self._ends_with_line_feed else b"\n"
        self.write_text(start + text.encode("utf-8", "replace") + b"\n")

    def add_value(self, kind: str, data: str) -> None:
        if kind.startswith("image/"):
            try:
                picture = base64.b64decode(data)
            except binascii.Error:
                return
            self._picture_count += 1
            self._add_piece("image", f"[picture {self._picture_count}]", picture)
        elif kind == "html":
            from tools.kernel.html_text import html_to_text  # noqa: PLC0415  (only for values that are nothing but HTML)

            self._add_piece("text", html_to_text(data))
        else:
            self._add_piece("json" if kind == "json" else "markdown", data)

    def _add_piece(self, kind: CellOutputKind, text: str, picture: bytes = b"") -> None:
        data = text.encode("utf-8", "replace")
        with self._lock:
            if picture or (self._is_complete and len(self._pieces) < _MAX_CELL_OUTPUT_PIECES):
                self._pieces.append((kind, bytearray(data + b"\n" if kind == "text" else data), picture))
            self._feed_text((b"" if self._ends_with_line_feed else b"\n") + data + b"\n")

    def _feed_text(self, data: bytes) -> None:
        if not data:
            return
        self.total_bytes += len(data)
        self._lines += data.count(b"\n")
        self._ends_with_line_feed = data.endswith(b"\n")
        self._whole_text.feed(data)

    @property
    def _is_complete(self) -> bool:
        """Returns whether no output of the cell was cut, so that the pieces are complete."""
        return self.total_bytes <= MAX_TOOL_RESULT_BYTES and self._lines <= MAX_TOOL_RESULT_LINES

    def output_preview(self) -> str:
        """Returns the end of the cell's output so far, while the cell runs."""
        return self._whole_text.preview()

    def finish_output(self) -> CommandOutputSnapshot:
        """Returns the output of an ended cell as text; what does not fit is only in the artifact."""
        return self._whole_text.finish()

    def output_pieces(self) -> tuple[CellOutputPiece, ...]:
        """Returns the texts, pictures and values of the output in order, if nothing had to be cut; otherwise only the
        pictures."""
        with self._lock:
            kept = [one for one in self._pieces if self._is_complete or one[0] == "image"]
        return tuple(
            CellOutputPiece(
                kind=kind,
                text=render_final_output(bytes(data).decode("utf-8", "replace")),
                data=picture,
            )
            for kind, data, picture in kept
        )
