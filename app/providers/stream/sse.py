"""Decodes server-sent events from bytes as they arrive, independent of their content."""

_MAX_SSE_EVENT_BYTES = 64 * 1024 * 1024
"""The maximum size of an event in bytes, so that a server that never ends an event cannot fill the memory."""


class SseDecoder:
    """Takes chunks that may be cut anywhere and yields `(event name, data)` for each event with data.

    Comments, `id:` and `retry:` lines are skipped. Lines may end in LF, CR LF or CR."""

    def __init__(self) -> None:
        self._incomplete_line: list[bytes] = []
        """The pieces of an incomplete line, which are joined when it ends, because a long line arrives in many
        pieces."""
        self._event_name = ""
        self._data_lines: list[bytes] = []
        self._buffered_bytes = 0
        """The number of bytes of the current event, in complete lines and the incomplete one."""

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        pending = self._incomplete_line
        if b"\n" in chunk or b"\r" in chunk or (pending and pending[-1].endswith(b"\r")):
            buffer = b"".join((*pending, chunk))
            if b"\r" in buffer:
                buffer = self._normalize_line_ends(buffer)
            end = buffer.rfind(b"\n")
            self._buffered_bytes -= sum(map(len, pending))
            self._incomplete_line = [buffer[end + 1 :]]
            found = self._read_lines(buffer[:end].split(b"\n")) if end >= 0 else []
            self._buffered_bytes += len(buffer) - end - 1
        else:
            pending.append(chunk)
            self._buffered_bytes += len(chunk)
            found = []
        if self._buffered_bytes > _MAX_SSE_EVENT_BYTES:
            raise ValueError("The response has an event of more than 64 MB.")
        return found

    def finish(self) -> list[tuple[str, bytes]]:
        """Returns the last event if the stream ended without its final line break."""
        rest, self._incomplete_line = b"".join(self._incomplete_line).rstrip(b"\r"), []
        return self._read_lines([*([rest] if rest else []), b""])

    @staticmethod
    def _normalize_line_ends(buffer: bytes) -> bytes:
        if buffer.endswith(b"\r"):  # its LF may follow in the next chunk
            return buffer[:-1].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\r"
        return buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read_lines(self, lines: list[bytes]) -> list[tuple[str, bytes]]:
        out: list[tuple[str, bytes]] = []
        data = self._data_lines
        for line in lines:
            if not line:
                if data:
                    out.append((self._event_name, data[0] if len(data) == 1 else b"\n".join(data)))
                    data.clear()
                    self._buffered_bytes = 0
                self._event_name = ""
            elif line.startswith(b"data:"):
                self._buffered_bytes += len(line)
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                self._event_name = line[6:].strip().decode("utf-8", "replace")
        return out
