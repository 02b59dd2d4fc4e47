"""The decisions and remarks of a person in a review, and their form in session entries. No I/O here."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.values.entries import CustomEntry, Entry
from app.values.wire import convert, new_id

REVIEW_ENTRY_TYPE = "bayou.review"
"""The type of the custom entry that records decisions about hunks, and remarks."""


class _RecordedStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class ReviewRemark(_RecordedStruct, frozen=True, kw_only=True):
    """A person's remark about a hunk; it waits until it is sent or dropped."""

    id: str = msgspec.field(default_factory=new_id)
    key: str
    """The key of the hunk that the remark is about."""
    path: str
    first: int
    last: int
    text: str
    patch: str = ""
    """The patch of the hunk as it was shown, for the message with the remarks."""


class ReviewEntryData(_RecordedStruct, frozen=True, kw_only=True):
    """The data of a `bayou.review` entry: decisions on hunks, and remarks."""

    v: int = 1
    kept: tuple[str, ...] = ()
    """The keys of hunks that the reviewer keeps."""
    opened: tuple[str, ...] = ()
    """The keys of hunks whose decision the reviewer withdrew."""
    remarks: tuple[ReviewRemark, ...] = ()
    closed: tuple[str, ...] = ()
    """The ids of remarks that were sent or dropped."""


class ReviewDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """The review decisions on a session branch: hunks that are kept, and remarks that wait."""

    kept: frozenset[str] = frozenset()
    remarks: tuple[ReviewRemark, ...] = ()
    """The remarks that are neither sent nor dropped, oldest first."""


def review_entry_data(data: ReviewEntryData) -> Any:
    return msgspec.to_builtins(data)


def review_data_of(entry: Entry) -> ReviewEntryData | None:
    """Returns the data of a `bayou.review` entry; None for any other entry, and for invalid data."""
    if not isinstance(entry, CustomEntry) or entry.custom_type != REVIEW_ENTRY_TYPE:
        return None
    try:
        return convert(entry.data, ReviewEntryData)
    except msgspec.ValidationError:
        return None


def review_decisions_on_branch(path: Iterable[Entry]) -> ReviewDecisions:
    """Combines the review decisions of a session branch; later ones replace earlier ones."""
    kept: set[str] = set()
    remarks: dict[str, ReviewRemark] = {}
    for entry in path:
        data = review_data_of(entry)
        if data is None:
            continue
        kept.update(data.kept)
        kept.difference_update(data.opened)
        remarks.update((remark.id, remark) for remark in data.remarks)
        for closed in data.closed:
            remarks.pop(closed, None)
    return ReviewDecisions(kept=frozenset(kept), remarks=tuple(remarks.values()))


def review_remarks_text(remarks: Sequence[ReviewRemark]) -> str:
    """Returns the one message that sends the reviewer's remarks, in the order of files and lines."""
    ordered = sorted(remarks, key=lambda one: (one.path, one.first, one.last))
    count = len(ordered)
    head = (
        "I reviewed your changes and have a comment:"
        if count == 1
        else "I reviewed your changes. My comments:"
    )
    return "\n\n".join((head, *map(_remark_text, ordered)))


def _remark_text(remark: ReviewRemark) -> str:
    lines = ""
    if remark.first:
        lines = f":{remark.first}" if remark.first == remark.last else f":{remark.first}-{remark.last}"
    patch = remark.patch.rstrip("\n")
    if patch.count("\n") > _MAX_QUOTED_REMARK_LINES:
        patch = "\n".join((*patch.split("\n")[:_MAX_QUOTED_REMARK_LINES], "…"))
    fence = "~~~~" if "```" in patch else "```"
    quote = f"\n{fence}diff\n{patch}\n{fence}" if patch else ""
    return f"{remark.path}{lines}{quote}\n{remark.text.strip()}"


_MAX_QUOTED_REMARK_LINES = 30
