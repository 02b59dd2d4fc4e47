"""Which files the summarised part read and changed: carried from one compaction to the next. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec

from app.values.messages import AssistantMessage, Message

_READS = ("read",)
_CHANGES = ("write", "edit")


class FileLists(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    read_files: tuple[str, ...] = ()
    """Read and not changed."""
    modified_files: tuple[str, ...] = ()

    def as_text(self) -> str:
        """As it is added to a summary; empty when there is nothing to tell."""
        blocks = []
        if self.read_files:
            blocks.append("<read-files>\n" + "\n".join(self.read_files) + "\n</read-files>")
        if self.modified_files:
            blocks.append("<modified-files>\n" + "\n".join(self.modified_files) + "\n</modified-files>")
        return "".join(f"\n\n{block}" for block in blocks)


def files_of(messages: Iterable[Message], *, carried: Any = None) -> FileLists:
    """From the calls of `messages`, and from an earlier summary's details."""
    read, changed = set[str](), set[str]()
    if isinstance(carried, dict):
        read |= _texts(carried.get("readFiles"))
        changed |= _texts(carried.get("modifiedFiles"))
    for message in messages:
        if not isinstance(message, AssistantMessage):
            continue
        for call in message.tool_calls:
            path = call.arguments.get("path")
            if isinstance(path, str) and path:
                (changed if call.name in _CHANGES else read if call.name in _READS else set[str]()).add(path)
    return FileLists(read_files=tuple(sorted(read - changed)), modified_files=tuple(sorted(changed)))


def own_details(details: Any) -> dict[str, Any]:
    """An extension's details, beside the lists of files that the next compaction carries on."""
    if isinstance(details, dict):
        return details
    return {"extension": details} if details is not None else {}


def _texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list | tuple) else set()
