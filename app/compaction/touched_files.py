"""Lists the files that the summarised part of a conversation read and changed; each compaction passes the lists
to the next."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.entries import BranchSummaryEntry, CompactionEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage
from tools.call_effects import FilesOfRecordedCall

FilesOfCall = Callable[[ToolCall], FilesOfRecordedCall]
_SUMMARY_ENTRY_TYPES = (BranchSummaryEntry, CompactionEntry)


class FileLists(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The files that the summarised part of a conversation read, and those that it changed."""

    read_files: tuple[str, ...] = ()
    """The files that were read and not changed."""
    modified_files: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Returns the lists of files as they are added to a summary; empty without files."""
        blocks = []
        if self.read_files:
            blocks.append("<read-files>\n" + "\n".join(self.read_files) + "\n</read-files>")
        if self.modified_files:
            blocks.append("<modified-files>\n" + "\n".join(self.modified_files) + "\n</modified-files>")
        return "".join(f"\n\n{block}" for block in blocks)


def touched_files(entries: Collection[Entry], of_call: FilesOfCall, *, carried: Any = None) -> FileLists:
    """Collects the read and changed files from the tool calls in `entries`, from summaries of other branches,
    and from `carried` details. For a thread, since `of_call` may read files."""
    read, changed = set[str](), set[str]()
    for details in (
        carried,
        *(entry.details for entry in entries if isinstance(entry, _SUMMARY_ENTRY_TYPES)),
    ):
        if isinstance(details, dict):
            read |= _texts_in_list(details.get("readFiles"))
            changed |= _texts_in_list(details.get("modifiedFiles"))
    for entry in entries:
        for call in _executed_calls(entry):
            files = of_call(call)
            read.update(files.reads)
            changed.update(files.writes)
    return FileLists(read_files=tuple(sorted(read - changed)), modified_files=tuple(sorted(changed)))


def _executed_calls(entry: Entry) -> Sequence[ToolCall]:
    """Returns the tool calls of an answer; none if the answer failed or was stopped, since its calls were not
    executed."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
        return ()
    return message.tool_calls


def extension_summary_details(details: Any) -> dict[str, Any]:
    """Returns the summary details that an extension added, without the file lists."""
    if isinstance(details, dict):
        return details
    return {"extension": details} if details is not None else {}


def _texts_in_list(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list | tuple) else set()
