"""Commands that go elsewhere: other sessions, other points of the tree, and what there is to go to."""

from pathlib import Path
from typing import Any

from app.engine.commands.base import Command, CommandError, NoParams, Params, command
from app.engine.session import Session
from app.sessions.fork import clone as clone_session
from app.sessions.fork import fork_before
from app.values.content import text_of
from app.values.entries import Entry, LabelEntry, MessageEntry
from app.values.messages import UserMessage
from app.values.wire import to_wire

_UNSAVED = "This session has not been saved yet. Send a message before cloning or forking it."


class NewSession(Params, frozen=True, kw_only=True):
    parent_session: str | None = None


class SwitchSession(Params, frozen=True, kw_only=True):
    session_path: str


class EntryParams(Params, frozen=True, kw_only=True):
    entry_id: str


class Since(Params, frozen=True, kw_only=True):
    since: str | None = None


class Navigate(Params, frozen=True, kw_only=True):
    entry_id: str | None = None
    """None: before everything."""


class SetLabel(Params, frozen=True, kw_only=True):
    entry_id: str
    label: str | None = None


async def new_session(session: Session, params: NewSession) -> dict[str, bool]:
    await session.abort()
    parent = Path(params.parent_session) if params.parent_session else None
    await session.open(session.places.new(parent=parent), "new")
    return {"cancelled": False}


async def switch_session(session: Session, params: SwitchSession) -> dict[str, bool]:
    await session.abort()
    await session.open(session.places.open_or_begin(params.session_path), "resume")
    return {"cancelled": False}


async def fork(session: Session, params: EntryParams) -> dict[str, Any]:
    """A new file that ends before the prompt, whose text comes back."""
    log = session.log
    if params.entry_id not in log or not _is_prompt(log.entry(params.entry_id)):
        raise CommandError("Invalid entry ID for forking")
    if not log.is_on_disk:
        raise CommandError(_UNSAVED)
    text = log.navigation(params.entry_id).text
    await session.abort()
    places = session.places
    await session.open(
        fork_before(log, params.entry_id, places.folder, cwd=places.cwd, fsync=places.sync), "fork"
    )
    return {"text": text, "cancelled": False} if text is not None else {"cancelled": False}


async def clone(session: Session, params: NoParams) -> dict[str, bool]:
    log = session.log
    if log.leaf_id is None:
        raise CommandError("Cannot clone session: no current entry selected")
    if not log.is_on_disk:
        raise CommandError(_UNSAVED)
    await session.abort()
    places = session.places
    await session.open(clone_session(log, places.folder, cwd=places.cwd, fsync=places.sync), "fork")
    return {"cancelled": False}


async def get_fork_messages(session: Session, params: NoParams) -> dict[str, Any]:
    return {
        "messages": [
            {"entryId": entry.id, "text": text_of(entry.message.content)}
            for entry in session.log.entries
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        ]
    }


async def get_entries(session: Session, params: Since) -> dict[str, Any]:
    entries = session.log.entries
    if params.since is not None:
        ids = [entry.id for entry in entries]
        if params.since not in ids:
            raise CommandError(f"Entry not found: {params.since}")
        entries = entries[ids.index(params.since) + 1 :]
    return {"entries": entries, "leafId": session.log.leaf_id}


async def get_tree(session: Session, params: NoParams) -> dict[str, Any]:
    """Built without recursion: a session is as deep as it is long."""
    log = session.log
    stamps = {entry.target_id: entry.timestamp for entry in log.entries if isinstance(entry, LabelEntry)}
    nodes: dict[str, dict[str, Any]] = {}
    for entry in log.entries:
        node: dict[str, Any] = {"entry": to_wire(entry), "children": []}
        label = log.labels.get(entry.id)
        if label:
            node |= {"label": label, "labelTimestamp": stamps.get(entry.id)}
        nodes[entry.id] = node
    roots: list[dict[str, Any]] = []
    for entry in log.entries:
        parent = nodes.get(entry.parent_id or "")
        (roots if parent is None else parent["children"]).append(nodes[entry.id])
    return {"tree": roots, "leafId": log.leaf_id}


async def navigate_tree(session: Session, params: Navigate) -> dict[str, Any]:
    if params.entry_id is not None and params.entry_id not in session.log:
        raise CommandError(f"Entry not found: {params.entry_id}")
    text = await session.go_to(params.entry_id)
    return {"cancelled": False} if text is None else {"cancelled": False, "editorText": text}


async def set_label(session: Session, params: SetLabel) -> None:
    if params.entry_id not in session.log:
        raise CommandError(f"Entry not found: {params.entry_id}")
    session.log.set_label(params.entry_id, params.label)


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)


PLACES: tuple[Command, ...] = (
    command("new_session", NewSession, new_session, "Begin another session.", "{cancelled}"),
    command("switch_session", SwitchSession, switch_session, "Go on with another file.", "{cancelled}"),
    command("fork", EntryParams, fork, "Go on in a new file from before a prompt.", "{text?, cancelled}"),
    command("branch", EntryParams, fork, "The same as fork.", "{text?, cancelled}"),
    command("clone", NoParams, clone, "Go on in a copy of this branch.", "{cancelled}"),
    command("get_fork_messages", NoParams, get_fork_messages, "All prompts of the file.", "{messages}"),
    command(
        "get_branch_messages", NoParams, get_fork_messages, "The same as get_fork_messages.", "{messages}"
    ),
    command("get_entries", Since, get_entries, "Entries in file order.", "{entries, leafId}"),
    command("get_tree", NoParams, get_tree, "The entries as a tree.", "{tree, leafId}"),
    command("navigate_tree", Navigate, navigate_tree, "Go to an entry.", "{cancelled, editorText?}"),
    command("set_label", SetLabel, set_label, "Label an entry, or take its label away."),
)
