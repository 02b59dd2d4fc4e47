"""Collects output of any length in bounded memory: the end in memory, everything in a file once it is too long to
show."""

import codecs
import os
import select
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from tools.files.atomic_replacement import write_all
from tools.files.output_artifacts import OutputArtifact, OutputArtifacts
from tools.masking.masked_stream import MaskedStream
from tools.masking.secret_mask import GetCurrentMask
from tools.result_limits import (
    MAX_TOOL_RESULT_BYTES,
    MAX_TOOL_RESULT_LINES,
    TruncatedText,
    count_lines,
    format_size,
    keep_last_lines,
)
from tools.running.output_colours import MAX_COLOURED_LINES_WHILE_RUNNING, find_output_colours
from tools.text_sanitizing import render_final_output, render_plain_output
from tools.tool_result_values import ColouredSpan

_MAX_BUFFERED_OUTPUT_BYTES: Final = 256 * 1024
_OUTPUT_READ_CHUNK_BYTES: Final = 1 << 20
_MAX_SPLIT_ESCAPE_SEQUENCE_BYTES: Final = 256


class CommandOutputSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a command so far, as it is shown."""

    truncation: TruncatedText
    artifact: OutputArtifact | None = None
    artifact_problem: str = ""
    last_line_bytes: int = 0
    colours: tuple[ColouredSpan, ...] = ()

    @property
    def text(self) -> str:
        return self.truncation.content

    @property
    def artifact_notice(self) -> str:
        """Returns a notice on where the rest of the output is; empty if all of it is shown."""
        if self.artifact:
            said = f"Full output: {self.artifact.path} (read {self.artifact.uri})"
        else:
            said = "The full output could not be kept"
        return f"{said}: {self.artifact_problem}" if self.artifact_problem else said


class CommandOutputBuffer:
    """Collects a command's output: the end in memory, everything in an artifact. Written from one thread, read from
    another."""

    def __init__(self, artifacts: OutputArtifacts, tool: str, mask: GetCurrentMask = lambda: None) -> None:
        """Creates the collector. `mask` masks secrets in the output before any of it is stored or shown."""
        self._artifacts = artifacts
        self._tool = tool
        self._lock = threading.Lock()
        self._tail_bytes = bytearray()
        self._line_feed_count = 0
        self._line_bytes = 0
        self._last_line_bytes = 0
        self._ends_with_line_feed = True
        self._descriptor = -1
        self._artifact: OutputArtifact | None = None
        self._artifact_problem = ""
        self._is_finished = False
        self._masked_stream = MaskedStream(mask)
        self.received_bytes = 0
        """The number of bytes received from the command."""
        self.total_bytes = 0
        """The number of bytes, after masking, that are stored or shown."""
        self.is_reading_pipe = False
        """Whether bytes were read from the pipe that have not been added to the output yet."""
        self.completed_event = threading.Event()
        """An event that is set when the whole output has been read."""

    def read_pipe(
        self, descriptor: int, *, on_data: Callable[[bytes], None] | None = None, on_end: Callable[[], None]
    ) -> None:
        """Reads a pipe to its end, in a thread, and closes it. Both callbacks run in that thread."""
        # A daemon thread: a pipe that a detached child holds open must not keep bayou from ending.
        arguments = (descriptor, on_data, on_end)
        threading.Thread(
            target=self._read_pipe_to_end, args=arguments, daemon=True, name="bayou-output"
        ).start()

    def _read_pipe_to_end(
        self, descriptor: int, on_data: Callable[[bytes], None] | None, on_end: Callable[[], None]
    ) -> None:
        buffer = bytearray(_OUTPUT_READ_CHUNK_BYTES)
        view = memoryview(buffer)
        try:
            # A FIFO without a writer yet would look like one at its end.
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            waiting.poll()
            while count := os.readv(descriptor, [buffer]):
                self.is_reading_pipe = True
                self.feed(view[:count])
                self.is_reading_pipe = False
                if on_data:
                    on_data(bytes(view[:count]))
        except OSError:
            pass  # A pseudo-terminal reports its end like this.
        finally:
            os.close(descriptor)
            with self._lock:
                self._add_masked(self._masked_stream.mask_remaining_bytes())
                if self._is_finished:
                    self._close_artifact()
            self.completed_event.set()
            on_end()

    def feed(self, data: "bytes | memoryview") -> None:
        chunk = bytes(data)
        if not chunk:
            return
        with self._lock:
            self.received_bytes += len(chunk)
            self._add_masked(self._masked_stream.mask_next_piece(chunk))

    def _add_masked(self, chunk: bytes) -> None:
        """Adds output whose secrets are already masked."""
        if not chunk:
            return
        self._count_lines(chunk)
        if len(chunk) >= _MAX_BUFFERED_OUTPUT_BYTES and self._descriptor >= 0:
            self._tail_bytes[:] = chunk[-_MAX_BUFFERED_OUTPUT_BYTES:]
        else:
            self._tail_bytes += chunk
        self.total_bytes += len(chunk)
        if self._descriptor >= 0:
            self._write_to_artifact(chunk)
        elif (
            self.total_bytes > _MAX_BUFFERED_OUTPUT_BYTES
            and not self._artifact_problem
            and not self._is_finished
        ):
            self._open_artifact()
        if len(self._tail_bytes) > 2 * _MAX_BUFFERED_OUTPUT_BYTES:
            del self._tail_bytes[:-_MAX_BUFFERED_OUTPUT_BYTES]

    def _count_lines(self, chunk: bytes) -> None:
        found = chunk.count(b"\n")
        self._line_feed_count += found
        last = chunk.rfind(b"\n")
        if not found:
            self._line_bytes += len(chunk)
        else:
            before = chunk.rfind(b"\n", 0, last)
            complete = last - before - 1
            self._last_line_bytes = complete if before >= 0 else complete + self._line_bytes
            self._line_bytes = len(chunk) - last - 1
        self._ends_with_line_feed = chunk.endswith(b"\n")

    def _line_count_with(self, held: bytes) -> tuple[int, int]:
        """Returns the number of lines including held-back output, and the length of the last line."""
        if not held:
            ends = self._ends_with_line_feed
            return self._line_feed_count + (
                0 if ends else 1
            ), self._last_line_bytes if ends else self._line_bytes
        feeds = held.count(b"\n")
        last = len(held.removesuffix(b"\n").rpartition(b"\n")[2])
        if not feeds or (feeds == 1 and held.endswith(b"\n")):
            last += self._line_bytes
        return self._line_feed_count + feeds + (0 if held.endswith(b"\n") else 1), last

    def snapshot(self) -> CommandOutputSnapshot:
        """Returns the output of the command that is shown now."""
        with self._lock:
            held = self._masked_stream.preview()
            kept = bytes(self._tail_bytes) + held
            size = self.total_bytes + len(held)
            is_cut = size > len(kept)
            lines, last = self._line_count_with(held)
        if is_cut:
            kept = _drop_partial_start(kept)
        written = kept.decode("utf-8", "replace")
        text = render_final_output(written)
        # Overwritten lines reduce the final number of lines.
        lines -= count_lines(written) - count_lines(text)
        truncation = keep_last_lines(text, total_lines=lines, total_bytes=size)
        if is_cut and not truncation.truncated:
            truncation = msgspec.structs.replace(
                truncation, truncated_by="bytes", last_line_partial=count_lines(text) == 1
            )
        return CommandOutputSnapshot(
            truncation=truncation,
            artifact=self._artifact,
            artifact_problem=self._artifact_problem,
            last_line_bytes=last,
            colours=find_output_colours(written, truncation.content),
        )

    def finish(self, *, keep_all: bool = False) -> CommandOutputSnapshot:
        """Returns the final output of the command; everything not shown is in its artifact."""
        found = self.snapshot()
        with self._lock:
            if (
                (found.truncation.truncated or keep_all)
                and self._artifact is None
                and not self._artifact_problem
            ):
                self._open_artifact()
            self._is_finished = True
            if not keep_all or self.completed_event.is_set():
                self._close_artifact()
        return msgspec.structs.replace(
            found, artifact=self._artifact, artifact_problem=self._artifact_problem
        )

    def preview(self, max_bytes: int = MAX_TOOL_RESULT_BYTES) -> str:
        """Returns the last lines of the output cheaply, for updates while the command runs."""
        return self._take_preview(max_bytes)[0]

    def preview_with_colours(self) -> tuple[str, tuple[ColouredSpan, ...]]:
        """Returns the last lines of the output, with their colours, for updates while the command runs."""
        shown, written = self._take_preview(MAX_TOOL_RESULT_BYTES)
        return shown, find_output_colours(written, shown, MAX_COLOURED_LINES_WHILE_RUNNING)

    def _take_preview(self, max_bytes: int) -> tuple[str, str]:
        with self._lock:
            held = self._masked_stream.preview()
            kept = (bytes(self._tail_bytes[-max_bytes - 1 :]) + held)[-max_bytes - 1 :]
            is_cut = self.total_bytes + len(held) > len(kept)
        if is_cut:
            kept = _drop_partial_start(kept)
        written = kept.decode("utf-8", "replace")
        return keep_last_lines(
            render_final_output(written), MAX_TOOL_RESULT_LINES, max_bytes
        ).content, written

    def output_after(self, position: int) -> tuple[bytes, int]:
        """Returns the output behind a position, as far as it is still in memory, and the next position."""
        with self._lock:
            self._add_masked(self._masked_stream.flush_part_without_secrets())
            wanted = min(self.total_bytes - position, len(self._tail_bytes))
            return bytes(self._tail_bytes[len(self._tail_bytes) - wanted :]), self.total_bytes

    def _open_artifact(self) -> None:
        try:
            self._artifact, self._descriptor = self._artifacts.create(self._tool)
        except OSError as problem:
            self._artifact_problem = problem.strerror or str(problem)
            return
        self._write_to_artifact(bytes(self._tail_bytes))

    def _write_to_artifact(self, chunk: bytes) -> None:
        limit = self._artifacts.next_artifact_size_limit
        if self.total_bytes > limit:
            self._artifact_problem = f"the file stops at {format_size(limit)}"
            self._close_artifact()
            return
        try:
            write_all(self._descriptor, chunk)
        except OSError as problem:
            self._artifact_problem = problem.strerror or str(problem)
            self._close_artifact()

    def _close_artifact(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            if self._artifact is not None:
                self._artifacts.mark_artifact_complete(self._artifact)


class NewCommandOutputReader:
    """Reads a command's new output piece by piece, escaped; a character or an escape sequence is never split."""

    def __init__(self, output: CommandOutputBuffer) -> None:
        self._output = output
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial_line = ""

    def take_new_output(self) -> str:
        data, self._position = self._output.output_after(self._position)
        text = self._partial_line + self._decoder.decode(data)
        escape = text.rfind("\x1b", -_MAX_SPLIT_ESCAPE_SEQUENCE_BYTES)
        cut = len(text) if escape < 0 or "\n" in text[escape:] else escape
        if text.endswith("\r"):
            cut = min(cut, len(text) - 1)
        self._partial_line = text[cut:]
        return render_plain_output(text[:cut])


def _drop_partial_start(data: bytes) -> bytes:
    """Removes the partial line or character that is left at the beginning of an output whose start was cut off."""
    line_feed = data.find(b"\n")
    if 0 <= line_feed < len(data) - 1:
        return data[line_feed + 1 :]
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
