"""Session commands for navigation: other sessions, other points of the tree, and listing them."""

from collections.abc import Awaitable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from app.engine.commands import response_data
from app.engine.commands.session_command import (
    omit_none_fields,
    require_entry_exists,
    require_text_for_os,
    session_command,
)
from app.engine.context.branch_summary import NavigationOptions, NavigationStopped
from app.engine.context.summariser import SummaryCancelled
from app.engine.core.prompt_intake import SessionSwitchCancelled
from app.engine.session import Session
from app.values.codec import encode, encode_json
from app.values.content import text_of
from app.values.entries import Entry, LabelEntry, MessageEntry
from app.values.messages import UserMessage
from app.values.user_errors import UserError

_NOT_SAVED_TEXT = "This session has not been saved yet. Send a message before cloning or forking it."


@session_command("Start a new session")
async def new_session(session: Session, parent_session: str | None = None) -> response_data.Moved:
    parent = Path(require_text_for_os(parent_session, "parentSession")) if parent_session else None
    return await _catch_cancelled_switch(session.branches.start_new_session(parent))


@session_command("Resume another session")
async def switch_session(session: Session, session_path: str) -> response_data.Moved:
    name = require_text_for_os(session_path, "sessionPath")
    try:
        return await _catch_cancelled_switch(session.branches.switch_to(name))
    except OSError as problem:
        raise UserError(f"{name}: {problem.strerror or problem}.") from None


async def _catch_cancelled_switch(going: Awaitable[None]) -> response_data.Moved:
    try:
        await going
    except SessionSwitchCancelled:
        return {"cancelled": True}
    return {"cancelled": False}


@session_command("Fork from an earlier prompt, in a new file")
async def fork(session: Session, entry_id: str) -> response_data.Forked:
    """Forks the session before a prompt; returns the prompt's text."""
    log = session.log
    if entry_id not in log or not _is_prompt(log.entry(entry_id)):
        raise UserError("Invalid entry ID for forking")
    if not log.is_on_disk:
        raise UserError(_NOT_SAVED_TEXT)
    text = log.navigation(entry_id).text
    if not await session.branches.fork(entry_id, "before"):
        return {"cancelled": True}
    return {"text": text, "cancelled": False} if text is not None else {"cancelled": False}


branch = fork.with_alias("branch")


@session_command("Continue in a copy of this branch")
async def clone(session: Session) -> response_data.Moved:
    return {"cancelled": not await clone_session_to_entry(session, session.state.leaf_id)}


async def clone_session_to_entry(session: Session, entry_id: str | None) -> bool:
    """Continues in a copy of the session down to an entry. Returns False if an extension prevents it."""
    if entry_id is None:
        raise UserError("Cannot clone session: no current entry selected")
    if not session.state.is_on_disk:
        raise UserError(_NOT_SAVED_TEXT)
    return await session.branches.fork(entry_id, "at")


@session_command("All prompts of the session file, to fork from", answer="messages")
async def get_fork_messages(session: Session) -> Sequence[response_data.ForkMessage]:
    return [
        {"entryId": entry.id, "text": text_of(entry.message.content)}
        for entry in session.log.entries
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
    ]


get_branch_messages = get_fork_messages.with_alias("get_branch_messages")


@session_command("Entries in file order")
async def get_entries(session: Session, since: str | None = None) -> response_data.Entries:
    entries = list(session.log.entries)
    if since is not None:
        ids = [entry.id for entry in entries]
        if since not in ids:
            raise UserError(f"Entry not found: {since}")
        entries = entries[ids.index(since) + 1 :]
    return {"entries": entries, "leafId": session.state.leaf_id}


@session_command("The entries as a tree", data=response_data.Tree)
async def get_tree(session: Session) -> dict[str, Any]:
    """Returns the session's entries as a tree, built without recursion, because a session's tree is as deep as the
    session is long."""
    log = session.log
    stamps = {entry.target_id: entry.timestamp for entry in log.entries if isinstance(entry, LabelEntry)}
    below: dict[str | None, list[Entry]] = {}
    known = {entry.id for entry in log.entries}
    for entry in log.entries:
        below.setdefault(entry.parent_id if entry.parent_id in known else None, []).append(entry)
    return {"tree": Raw(_tree_json(below, log.labels, stamps)), "leafId": log.leaf_id}


def _tree_json(
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


@session_command(
    "Go to an entry",
    "`summarize`: summarise the branch that is left. `restoreFiles`: restore the entry's files.",
)
async def navigate_tree(
    session: Session,
    entry_id: str | None = None,
    summarize: bool = False,
    custom_instructions: str | None = None,
    replace_instructions: bool = False,
    label: str | None = None,
    restore_files: bool = False,
) -> response_data.Navigated:
    """Goes to an entry of the session tree; without `entry_id`, goes before all entries."""
    require_entry_exists(session, entry_id)
    wish = _navigation_options(summarize, custom_instructions, replace_instructions, label)
    wish = msgspec.structs.replace(wish, should_restore_files=restore_files)
    with _catch_stopped_navigation():
        arrival = await session.branches.go_to_entry(entry_id, wish)
        return omit_none_fields(cancelled=False, editorText=arrival.prompt_text, summaryEntry=arrival.summary)
    return {"cancelled": True}


@session_command("Add a summary of another branch here")
async def merge_branch(
    session: Session,
    entry_id: str,
    custom_instructions: str | None = None,
    replace_instructions: bool = False,
    label: str | None = None,
) -> response_data.Navigated:
    """Adds a summary of another branch, which ends at `entry_id`, to the current one."""
    require_entry_exists(session, entry_id)
    wish = _navigation_options(True, custom_instructions, replace_instructions, label)
    with _catch_stopped_navigation():
        return {"cancelled": False, "summaryEntry": await session.branches.merge_branch(entry_id, wish)}
    return {"cancelled": True}


def _navigation_options(
    summarise: bool, instructions: str | None, replaces: bool, label: str | None
) -> NavigationOptions:
    """Builds the options of a navigation. With `replaces`, the instructions replace bayou's own instead of
    extending them."""
    return NavigationOptions(
        should_summarise=summarise, instructions=instructions, replaces_instructions=replaces, label=label
    )


@session_command("Undo the last compaction", "The context has the full history again.")
async def undo_compaction(session: Session) -> response_data.Navigated:
    with _catch_stopped_navigation():
        return omit_none_fields(cancelled=False, editorText=await session.compaction.undo_compaction())
    return {"cancelled": True}


@contextmanager
def _catch_stopped_navigation() -> Generator[None]:
    """Ends the `with` block without an error if an extension stopped the navigation in it."""
    try:
        yield
    except (NavigationStopped, SummaryCancelled):
        return


@session_command("Set or remove the label of an entry")
async def set_label(session: Session, entry_id: str, label: str | None = None) -> None:
    require_entry_exists(session, entry_id)
    session.log.set_label(entry_id, label)


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
