"""What the kernel says (`inside/`), decoded where it comes in. What it is told is plain: see `process`."""

from typing import Any, Literal

import msgspec


class _KernelMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    pass


class Hello(_KernelMessage, frozen=True, kw_only=True, tag="hello"):
    version: str
    executable: str


class Show(_KernelMessage, frozen=True, kw_only=True, tag="show"):
    """Something that is not text, in its place among the output."""

    id: int
    kind: Literal["markdown", "html", "json", "image/png", "image/jpeg"]
    data: str


class CallTool(_KernelMessage, frozen=True, kw_only=True, tag="call"):
    id: int
    name: str
    arguments: dict[str, Any]


class ArtifactRequest(_KernelMessage, frozen=True, kw_only=True, tag="artifact"):
    id: int
    number: str


class CancelCall(_KernelMessage, frozen=True, kw_only=True, tag="cancel"):
    """Nobody in the cell waits for this call any longer."""

    id: int


class CellError(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    text: str
    """The traceback, from the cell's own first frame on."""
    is_interrupt: bool = False


class CellDone(_KernelMessage, frozen=True, kw_only=True, tag="done"):
    """A cell has ended."""

    id: int
    number: int
    value: str | None = None
    error: CellError | None = None
    notes: tuple[str, ...] = ()
    seconds: float


class NamesAnswer(_KernelMessage, frozen=True, kw_only=True, tag="told"):
    """What was asked for between cells."""

    id: int
    names: Any


CellMessage = Show | CallTool | ArtifactRequest | CancelCall
"""What is said while a cell runs."""
KernelMessage = Hello | CellMessage | CellDone | NamesAnswer
decode_message = msgspec.json.Decoder(KernelMessage).decode
