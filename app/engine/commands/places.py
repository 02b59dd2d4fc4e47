"""Commands that go elsewhere: other sessions, other points of the tree, and what there is to go to."""

from collections.abc import Awaitable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Raw

from app.engine.brancher import Cancelled, Wish
from app.engine.commands import results
from app.engine.commands.base import Command, NoParams, Params, command, for_the_system
from app.engine.intake import Stayed
from app.engine.session import Session
from app.engine.summariser import SummaryCancelled
from app.values.codec import encode, encode_json
from app.values.content import text_of
from app.values.entries import Entry, LabelEntry, MessageEntry
from app.values.messages import UserMessage
from app.values.unable import Unable

_UNSAVED = "This session has not been saved yet. Send a message before cloning or forking it."


class NewSession(Params, frozen=True, kw_only=True):
    parent_session: str | None = None


class SwitchSession(Params, frozen=True, kw_only=True):
    session_path: str


class EntryParams(Params, frozen=True, kw_only=True):
    entry_id: str


class Since(Params, frozen=True, kw_only=True):
    since: str | None = None


class Summarised(Params, frozen=True, kw_only=True):
    custom_instructions: str | None = None
    replace_instructions: bool = False
    """They stand instead of bayou's own, and not beside them."""
    label: str | None = None

    def wish(self, summarise: bool) -> Wish:
        return Wish(
            summarise=summarise,
            instructions=self.custom_instructions,
            replaces_instructions=self.replace_instructions,
            label=self.label,
        )


class Navigate(Summarised, frozen=True, kw_only=True):
    entry_id: str | None = None
    """None: before everything."""
    summarize: bool = False
    """Whether a summary of the branch that is left goes along."""


class Merge(Summarised, frozen=True, kw_only=True):
    entry_id: str
    """The end of the other branch."""


class SetLabel(Params, frozen=True, kw_only=True):
    entry_id: str
    label: str | None = None


async def new_session(session: Session, params: NewSession) -> dict[str, bool]:
    parent = Path(for_the_system(params.parent_session, "parentSession")) if params.parent_session else None
    return await _unless_stayed(session.begin(parent))


async def switch_session(session: Session, params: SwitchSession) -> dict[str, bool]:
    name = for_the_system(params.session_path, "sessionPath")
    try:
        return await _unless_stayed(session.switch_to(name))
    except OSError as problem:
        raise Unable(f"{name}: {problem.strerror or problem}.") from None


async def _unless_stayed(going: Awaitable[None]) -> dict[str, bool]:
    try:
        await going
    except Stayed:
        return {"cancelled": True}
    return {"cancelled": False}


async def fork(session: Session, params: EntryParams) -> dict[str, Any]:
    """A new file that ends before the prompt, whose text comes back."""
    log = session.log
    if params.entry_id not in log or not _is_prompt(log.entry(params.entry_id)):
        raise Unable("Invalid entry ID for forking")
    if not log.is_on_disk:
        raise Unable(_UNSAVED)
    text = log.navigation(params.entry_id).text
    if not await session.fork(params.entry_id, "before"):
        return {"cancelled": True}
    return {"text": text, "cancelled": False} if text is not None else {"cancelled": False}


async def clone(session: Session, params: NoParams) -> dict[str, bool]:
    return {"cancelled": not await clone_from(session, session.state.leaf_id)}


async def clone_from(session: Session, entry_id: str | None) -> bool:
    """Goes on in a copy of everything down to an entry. False: an extension wants to stay."""
    if entry_id is None:
        raise Unable("Cannot clone session: no current entry selected")
    if not session.state.is_on_disk:
        raise Unable(_UNSAVED)
    return await session.fork(entry_id, "at")


async def get_fork_messages(session: Session, params: NoParams) -> dict[str, Any]:
    log = session.log
    return {
        "messages": [
            {"entryId": entry.id, "text": text_of(entry.message.content)}
            for entry in log.entries
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        ]
    }


async def get_entries(session: Session, params: Since) -> dict[str, Any]:
    log = session.log
    entries = log.entries
    if params.since is not None:
        ids = [entry.id for entry in entries]
        if params.since not in ids:
            raise Unable(f"Entry not found: {params.since}")
        entries = entries[ids.index(params.since) + 1 :]
    return {"entries": entries, "leafId": log.leaf_id}


async def get_tree(session: Session, params: NoParams) -> dict[str, Any]:
    """Written as text without recursion: a session's tree is as deep as the session is long."""
    log = session.log
    stamps = {entry.target_id: entry.timestamp for entry in log.entries if isinstance(entry, LabelEntry)}
    below: dict[str | None, list[Entry]] = {}
    known = {entry.id for entry in log.entries}
    for entry in log.entries:
        below.setdefault(entry.parent_id if entry.parent_id in known else None, []).append(entry)
    for children in below.values():
        children.sort(key=lambda entry: entry.timestamp)
    return {"tree": Raw(_tree_text(below, log.labels, stamps)), "leafId": log.leaf_id}


def _tree_text(
    below: Mapping[str | None, Sequence[Entry]], labels: Mapping[str, str], stamps: Mapping[str, str]
) -> bytes:
    parts: list[bytes] = [b"["]
    open_nodes: list[tuple[Iterator[Entry], bytes]] = [(iter(below.get(None, ())), b"]")]
    while open_nodes:
        siblings, end = open_nodes[-1]
        entry = next(siblings, None)
        if entry is None:
            open_nodes.pop()
            parts.append(end)
            continue
        if parts[-1] != b"[":
            parts.append(b",")
        label = labels.get(entry.id)
        more = encode_json({"label": label, "labelTimestamp": stamps.get(entry.id)}) if label else b""
        parts += [b'{"entry":', encode(entry), b',"children":', b"["]
        open_nodes.append((iter(below.get(entry.id, ())), b"]" + (b"," + more[1:] if more else b"}")))
    return b"".join(parts)


async def navigate_tree(session: Session, params: Navigate) -> dict[str, Any]:
    if params.entry_id is not None:
        _require_entry(session, params.entry_id)
    with _telling_failures():
        arrival = await session.go_to(params.entry_id, params.wish(params.summarize))
        return _without_none(cancelled=False, editorText=arrival.text, summaryEntry=arrival.summary)
    return {"cancelled": True}


async def merge_branch(session: Session, params: Merge) -> dict[str, Any]:
    _require_entry(session, params.entry_id)
    with _telling_failures():
        return {"cancelled": False, "summaryEntry": await session.merge(params.entry_id, params.wish(True))}
    return {"cancelled": True}


async def undo_compaction(session: Session, params: NoParams) -> dict[str, Any]:
    with _telling_failures():
        return _without_none(cancelled=False, editorText=await session.undo_compaction())
    return {"cancelled": True}


@contextmanager
def _telling_failures() -> Generator[None]:
    """A move that somebody stopped has not happened, and is no error; the body is left then."""
    try:
        yield
    except (Cancelled, SummaryCancelled):
        return


def _without_none(**data: Any) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


def _require_entry(session: Session, entry_id: str) -> None:
    if entry_id not in session.log:
        raise Unable(f"Entry not found: {entry_id}")


async def set_label(session: Session, params: SetLabel) -> None:
    _require_entry(session, params.entry_id)
    session.set_label(params.entry_id, params.label)


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)


PLACES: tuple[Command, ...] = (
    command("new_session", NewSession, new_session, "Begin another session.", results.Moved),
    command("switch_session", SwitchSession, switch_session, "Go on with another file.", results.Moved),
    command("fork", EntryParams, fork, "Go on in a new file from before a prompt.", results.Forked),
    command("branch", EntryParams, fork, "The same as fork.", results.Forked),
    command("clone", NoParams, clone, "Go on in a copy of this branch.", results.Moved),
    command(
        "get_fork_messages", NoParams, get_fork_messages, "All prompts of the file.", results.ForkMessages
    ),
    command(
        "get_branch_messages",
        NoParams,
        get_fork_messages,
        "The same as get_fork_messages.",
        results.ForkMessages,
    ),
    command("get_entries", Since, get_entries, "Entries in file order.", results.Entries),
    command("get_tree", NoParams, get_tree, "The entries as a tree.", results.Tree),
    command(
        "navigate_tree",
        Navigate,
        navigate_tree,
        "Go to an entry; `summarize` takes a summary of the branch that is left along.",
        results.Navigated,
    ),
    command("merge_branch", Merge, merge_branch, "Add a summary of another branch here.", results.Navigated),
    command(
        "undo_compaction",
        NoParams,
        undo_compaction,
        "Go back to the full history, before the last compaction.",
        results.Navigated,
    ),
    command("set_label", SetLabel, set_label, "Label an entry, or take its label away."),
)
