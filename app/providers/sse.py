"""Server-sent events out of bytes, as they come. Knows nothing of what is in them."""

_MAX_PENDING = 64 * 1024 * 1024
"""A server that never ends a line must not fill the memory."""


class SseDecoder:
    """Feeds on chunks that may be cut anywhere; yields `(event name, data)` for each event with data.

    Comments, `id:` and `retry:` lines are skipped. Lines may end in LF, CR LF or CR.
    """

    def __init__(self) -> None:
        self._pending = b""
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        buffer = self._pending + chunk if self._pending else chunk
        if b"\r" in buffer:
            buffer = self._without_carriage_returns(buffer)
        end = buffer.rfind(b"\n")
        if end < 0:
            self._pending = buffer
            if len(buffer) > _MAX_PENDING:
                raise ValueError("The response has a line of more than 64 MB.")
            return []
        self._pending = buffer[end + 1 :]
        return self._lines(buffer[:end].split(b"\n"))

    def finish(self) -> list[tuple[str, bytes]]:
        """What the end of the stream leaves: an event whose last line break never came."""
        rest, self._pending = self._pending.rstrip(b"\r"), b""
        return self._lines([*([rest] if rest else []), b""])

    @staticmethod
    def _without_carriage_returns(buffer: bytes) -> bytes:
        if buffer.endswith(b"\r"):  # its LF may follow in the next chunk
            return buffer[:-1].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\r"
        return buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _lines(self, lines: list[bytes]) -> list[tuple[str, bytes]]:
        out: list[tuple[str, bytes]] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    out.append((self._event, data[0] if len(data) == 1 else b"\n".join(data)))
                    data.clear()
                self._event = ""
            elif line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                self._event = line[6:].strip().decode("utf-8", "replace")
        return out
