"""Defines the messages from the kernel (`inside/`), decoded as they arrive. `kernel_process` builds the messages to
the kernel."""

from typing import Any, Literal

import msgspec


class _KernelMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    pass


class KernelStartedMessage(_KernelMessage, frozen=True, kw_only=True, tag="hello"):
    version: str
    executable: str


class ShowValueMessage(_KernelMessage, frozen=True, kw_only=True, tag="show"):
    """A message with a displayed value that is not text, at its position in the cell's output."""

    id: int
    kind: Literal["markdown", "html", "json", "image/png", "image/jpeg"]
    data: str


class ToolCallRequest(_KernelMessage, frozen=True, kw_only=True, tag="call"):
    id: int
    name: str
    arguments: dict[str, Any]


class ArtifactRequest(_KernelMessage, frozen=True, kw_only=True, tag="artifact"):
    id: int
    number: str


class CancelToolCallMessage(_KernelMessage, frozen=True, kw_only=True, tag="cancel"):
    """A message that the cell no longer waits for a tool call."""

    id: int


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    text: str
    """The traceback of the error, which begins at the cell's own code."""
    is_interrupt: bool = False


class CellDoneMessage(_KernelMessage, frozen=True, kw_only=True, tag="done"):
    """A message that a cell has ended, with its value or error."""

    id: int
    number: int
    value: str | None = None
    error: CellError | None = None
    notes: tuple[str, ...] = ()
    seconds: float


class KernelNamesAnswer(_KernelMessage, frozen=True, kw_only=True, tag="told"):
    """A message with the names that were asked for between cells."""

    id: int
    names: Any


CellMessage = ShowValueMessage | ToolCallRequest | ArtifactRequest | CancelToolCallMessage
"""The messages that the kernel sends while a cell runs."""
KernelMessage = KernelStartedMessage | CellMessage | CellDoneMessage | KernelNamesAnswer
decode_message = msgspec.json.Decoder(KernelMessage).decode
