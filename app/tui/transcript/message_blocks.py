"""Converts messages to transcript blocks: those of stored conversations, and finished ones of a running session."""

from collections.abc import Iterable, Iterator
from typing import assert_never, cast

import msgspec

from app.agent.tool_results import (
    SKIPPED_TOOL_RESULT_TEXT,
    denial_reason_of_result,
    is_result_of_stopped_call,
    tool_result_from_message,
)
from app.compaction.summary_requests import BRANCH_SUMMARY_PREAMBLE
from app.engine.commands.review_texts import review_command_of_prompt
from app.engine.files.file_diagnostics import DIAGNOSTICS_MESSAGE_TYPE as DIAGNOSTICS
from app.engine.files.file_diagnostics import diagnostic_line
from app.engine.files.file_restorer import FILE_RESTORE_MESSAGE_TYPE
from app.engine.files.memory_notes import MEMORY_NOTE_MESSAGE_TYPE
from app.engine.files.pending_changes import RESOLVED_PENDING_CHANGES_MESSAGE_TYPE as RESOLVED
from app.providers.failure_kinds import classify_failure, is_cut_connection
from app.tui.transcript.cell_block import finished_cell_block
from app.tui.transcript.goal_block import goal_check_block
from app.tui.transcript.renderers import EntryRenderers
from app.tui.transcript.turn_end import TurnEndCollector
from app.values.cells import CELL_ENTRY_TYPE
from app.values.content import Content, Image, Text, Thinking, ToolCall, UserContent, text_of
from app.values.diagnostics import Diagnostic
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
    UsageEntry,
)
from app.values.events import CompactionResult
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    ToolResultMessage,
    UserMessage,
)
from app.values.todos import GOAL_CHECK_MESSAGE_TYPE
from app.values.wire import from_wire
from tools.number_formatting import format_seconds, format_token_count
from tools.streaming_arguments import text_in_result_details
from tools.text_sanitizing import one_line
from tools.tool_result_values import (
    Card,
    CommandBlock,
    ImageBlock,
    Json,
    ListBlock,
    MapBlock,
    MarkdownBlock,
    TextBlock,
)
from widgets.transcript.transcript_blocks import (
    AppNoteKind,
    Block,
    CardState,
    CustomBlock,
    CustomBlockKind,
    FailureToShow,
    ReplyBlock,
    ReplyProse,
    ReplyState,
    ReplyThinking,
    ToolCallBlock,
    TurnEndBlock,
    UserPromptBlock,
)

DIAGNOSTICS_PREVIEW_LINES = 3
RETRIED_ANSWER_TEXT = "The answer broke off here. The next try is below."
ANSWER_STOPPED_BY_RULE_TEXT = "Stopped here by a rule. The next answer is below."
_RULE_VIOLATION_MESSAGE_TYPE = "rule-violation"
PENDING, DELIVERED = "pending", "delivered"
"""Whether the end of a background job was reported to the model."""
_CARD_STATE_BY_JOB_STATE = {
    "failed": CardState.FAILED,
    "killed": CardState.ABORTED,
    "lost": CardState.ABORTED,
}
_BLOCK_KIND_BY_CUSTOM_TYPE = {
    "file-map": CustomBlockKind.FILE_MAP,
    "read-recovery": CustomBlockKind.READ_RECOVERY,
    "background-result": CustomBlockKind.JOB,
    DIAGNOSTICS: CustomBlockKind.DIAGNOSTICS,
    GOAL_CHECK_MESSAGE_TYPE: CustomBlockKind.GOAL,
}

_BLOCK_TITLE_BY_CUSTOM_TYPE = {
    "todo-reminder": "reminder",
    "pending-reminder": "reminder",
    "todo-list": "todo list",
    "pending-lost": "staged changes",
    "repository-map": "map of the repository",
    "nested-context": "instructions",
    "project-rule": "rule",
    "rule-violation": "rule",
    "hook": "hook",
}
"""What a message is called on the page, where its type is a name of the program."""


def transcript_blocks_of_branch(
    entries: Iterable[Entry],
    renderers: EntryRenderers,
    changed: TurnEndCollector,
    *,
    goes_on: bool = False,
) -> list[Block]:
    """Converts the entries of a session's branch to transcript blocks, including compacted ones, which stay readable.

    File changes since the last answer are left in `changed`. `goes_on`: more entries follow these."""
    places: dict[str, int] = {}
    calls: dict[str, tuple[str, ToolCall]] = {}
    blocks: list[Block] = []
    unlisted_providers: list[int] = []
    entries = list(entries)
    followed = _superseded_failures(entries, goes_on=goes_on)
    for entry in entries:
        changed.add_entry(entry)
        add_turn_end(blocks, changed.turn_end_before(entry))
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            known = calls.get(entry.message.tool_call_id)
            if known is not None:
                block_id, call = known
                blocks[places[block_id]] = tool_result_block(block_id, call, entry.message, renderers)
            changed.turn_end_after(entry)
            continue
        for block in _blocks_of_entry(entry, renderers):
            if entry.id in followed and isinstance(block, ReplyBlock):
                asked_again = answer_without_actions(block, because=followed[entry.id])
                if asked_again is None:
                    continue
                block = asked_again
            if isinstance(block, CustomBlock) and block.label == PENDING:
                unlisted_providers.append(len(blocks))
            places[block.id] = len(blocks)
            blocks.append(block)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            for call in entry.message.tool_calls:
                calls[call.id] = (make_tool_card_id(entry.id, call.id), call)
            while unlisted_providers:  # this answer came after the jobs' results, so the model had them
                place = unlisted_providers.pop()
                blocks[place] = mark_job_delivered(blocks[place])
        add_turn_end(blocks, changed.turn_end_after(entry))
    for place in unlisted_providers if goes_on else ():
        blocks[place] = mark_job_delivered(blocks[place])
    return blocks


def add_turn_end(blocks: list[Block], end: TurnEndBlock | None) -> None:
    """Adds the end of a turn to blocks, of which an earlier end of the same turn becomes blank; does nothing for
    None."""
    if end is None:
        return
    for at in reversed(range(len(blocks) if end.replaces else 0)):
        if blocks[at].id == end.id:
            blocks[at] = end
            return
        if blocks[at].id == end.replaces:
            blocks[at] = TurnEndBlock(id=end.replaces, words="")
            break
    blocks.append(end)


def _superseded_failures(entries: Iterable[Entry], *, goes_on: bool) -> dict[str, str]:
    """Returns the failed or stopped answers after which the conversation went on: by id the reason why another answer
    replaces it; empty if none does."""
    found: dict[str, str] = {}
    failed = stopped = ""
    for entry in entries:
        message = entry.message if isinstance(entry, MessageEntry) else None
        if (
            stopped
            and isinstance(entry, CustomMessageEntry)
            and entry.custom_type == _RULE_VIOLATION_MESSAGE_TYPE
        ):
            found[stopped] = ANSWER_STOPPED_BY_RULE_TEXT
        if failed and isinstance(message, AssistantMessage | UserMessage):
            found[failed] = RETRIED_ANSWER_TEXT if isinstance(message, AssistantMessage) else ""
            failed = ""
        if message is not None:
            stopped = ""
        if isinstance(message, AssistantMessage) and message.stop_reason == "error":
            failed = entry.id
        if isinstance(message, AssistantMessage) and message.stop_reason == "aborted":
            stopped = entry.id
    if failed and goes_on:
        found[failed] = ""
    return found


def message_as_sentence(text: str) -> str:
    """Returns a provider's message with a capital at its beginning, unless that is a name such as `x-api-key`."""
    return f"{text[0].upper()}{text[1:]}" if text.split(" ", 1)[0].rstrip(".,:").isalpha() else text


def failure_sentence(message: AssistantMessage) -> str:
    """Returns a plain sentence that says why an answer failed; if the kind of failure is unknown, the provider's own
    message."""
    provider = message.provider or "the model"
    match classify_failure(message).kind:
        case "auth":
            return f"The key was rejected by {provider}."
        case "rate_limit":
            return f"The rate limit of {provider} is reached."
        case "quota":
            return f"The quota of {provider} is used up."
        case "overflow":
            return "The conversation does not fit the model's context window."
        case "model":
            return f"The model {message.model} is not available."
        case "server":
            return f"The server of {provider} reported a problem."
        case "network":
            middle = " in the middle of the answer" if message.content else ""
            happened = f"was cut{middle}" if is_cut_connection(message) else "failed"
            return f"The connection to {provider} {happened}."
        case "none" | "aborted" | "other":
            return message_as_sentence(message.error_message or "The request failed.")


def append_error_text(block: ReplyBlock, words: str) -> ReplyBlock:
    """Returns the block of a failed answer with words added to its error message."""
    failure = block.failure or FailureToShow(message="The request failed.")
    said = f"{failure.message.rstrip('.')}. {words}"
    return msgspec.structs.replace(block, failure=msgspec.structs.replace(failure, message=said))


def answer_without_actions(block: ReplyBlock, *, because: str) -> ReplyBlock | None:
    """Returns the block of a failed answer without its actions, such as to retry. With `because`, another answer
    replaced it for this reason; None if it then has nothing to show."""
    if not because:
        told = block.failure
        failure = FailureToShow(message=told.message, detail=told.detail) if told else None
        return msgspec.structs.replace(block, failure=failure)
    failure = FailureToShow(message=because)
    return msgspec.structs.replace(block, state=ReplyState.REPLACED, failure=failure) if block.parts else None


def mark_job_delivered(block: Block) -> Block:
    """Returns the block of a job's result, labelled as delivered to the model."""
    return msgspec.structs.replace(block, label=DELIVERED)


def _blocks_of_entry(entry: Entry, renderers: EntryRenderers) -> Iterator[Block]:
    match entry:
        case MessageEntry(message=UserMessage() as message):
            yield user_message_block(entry.id, message, renderers)
        case MessageEntry(message=AssistantMessage() as message):
            yield from _assistant_blocks(entry.id, message, renderers)
        case MessageEntry(message=BashExecutionMessage() as message):
            yield user_command_block(entry.id, message)
        case CustomMessageEntry(display=True):
            yield custom_message_block(
                entry.id,
                CustomMessage(
                    custom_type=entry.custom_type, content=entry.content, details=entry.details, display=True
                ),
                renderers,
            )
        case CustomEntry():
            if (block := renderers.entry_block(entry)) is not None:
                yield block
        case CompactionEntry():
            yield compaction_block(entry.id, entry, renderers)
        case BranchSummaryEntry():
            yield branch_summary_block(
                entry.id,
                CustomBlockKind.BRANCH_SUMMARY,
                entry.summary.removeprefix(BRANCH_SUMMARY_PREAMBLE),
                f"of {renderers.branch_name(entry) or 'another branch'}",
                renderers,
            )
        case (
            MessageEntry()
            | ModelChangeEntry()
            | ThinkingLevelChangeEntry()
            | UsageEntry()
            | CustomMessageEntry()
            | ContextEditEntry()
            | LabelEntry()
            | SessionInfoEntry()
            | UnknownEntry()
        ):
            pass
        case _:
            assert_never(entry)


def make_tool_card_id(message_id: str, call_id: str) -> str:
    """Returns the transcript's unique id for a tool call; some providers use the same call ids in every answer."""
    return f"{message_id}/{call_id}"


def user_message_block(block_id: str, message: UserMessage, renderers: EntryRenderers) -> UserPromptBlock:
    sent = text_of(message.content)
    text = renderers.transform_text(review_command_of_prompt(sent) or sent, "user")
    return UserPromptBlock(id=block_id, text=text, images=_image_blocks(message.content))


def _image_blocks(content: str | tuple[UserContent, ...]) -> tuple[ImageBlock, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        ImageBlock(mime_type=block.mime_type, byte_count=len(block.data) * 3 // 4, data=block.data)
        for block in content
        if isinstance(block, Image)
    )


def _assistant_blocks(block_id: str, message: AssistantMessage, renderers: EntryRenderers) -> Iterator[Block]:
    reply = model_reply_block(block_id, message, renderers)
    if reply is not None:
        yield reply
    for call in message.tool_calls:
        yield ToolCallBlock(
            id=make_tool_card_id(block_id, call.id),
            card=card_of_call_not_run(renderers.call_card(call)),
            state=CardState.ABORTED,
        )


def model_reply_block(
    block_id: str, message: AssistantMessage, renderers: EntryRenderers
) -> ReplyBlock | None:
    """Returns the transcript block of a model's answer; None if it only calls tools."""
    parts = tuple(part for block in message.content if (part := _content_part(block, renderers)) is not None)
    state, failure = model_reply_state(message, renderers)
    if not parts and state is ReplyState.DONE:
        return None
    return ReplyBlock(id=block_id, parts=parts, state=state, failure=failure)


def _content_part(block: Content, renderers: EntryRenderers) -> ReplyThinking | ReplyProse | None:
    if isinstance(block, Text) and block.text:
        return ReplyProse(text=renderers.transform_text(block.text, "assistant"))
    if isinstance(block, Thinking) and block.thinking:
        return ReplyThinking(text=renderers.transform_text(block.thinking, "thinking"))
    return None


def model_reply_state(
    message: AssistantMessage, renderers: EntryRenderers
) -> tuple[ReplyState, FailureToShow | None]:
    match message.stop_reason:
        case "error":
            text, said = failure_sentence(message), message_as_sentence(message.error_message or "")
            return ReplyState.ERROR, FailureToShow(
                message=text,
                detail=said if said != text else "",
                next_step=renderers.next_step(message),
                retry_key=renderers.retry_key,
            )
        case "aborted":
            return ReplyState.ABORTED, None
        case "length":
            return ReplyState.TRUNCATED, FailureToShow(
                message="The answer reached the model's output limit.", next_step="Ask the agent to continue."
            )
        case "stop" | "toolUse" | "pending" | "deferred":
            return ReplyState.DONE, None
        case _:
            assert_never(message.stop_reason)


def tool_result_block(
    block_id: str, call: ToolCall, message: ToolResultMessage, renderers: EntryRenderers
) -> ToolCallBlock:
    denial = denial_reason_of_result(message)
    if denial is None:
        card = renderers.call_card(call, tool_result_from_message(message))
        if renderers.is_staged(staged_changes_id_of(message)):
            card = msgspec.structs.replace(card, blocks=())
    else:
        card = card_of_call_not_run(renderers.call_card(call))
    return ToolCallBlock(
        id=block_id,
        card=card,
        state=tool_result_card_state(message),
        timing=format_call_duration(message.duration_ms) if denial is None else "",
        word="" if denial is None else "denied",
        note=f"You: {denial}" if denial else "",
    )


def staged_changes_id_of(message: ToolResultMessage) -> str:
    """Returns the id of the changes that a tool call staged; empty if it staged none."""
    details: Json = message.details
    return text_in_result_details(details, "pending") if isinstance(details, dict) else ""


def card_of_call_not_run(card: Card) -> Card:
    """Returns the card of a tool call that never ran, without the counts of what it would have changed."""
    return msgspec.structs.replace(card, summary="")


def tool_result_card_state(message: ToolResultMessage) -> CardState:
    if is_result_of_stopped_call(message) or denial_reason_of_result(message) is not None:
        return CardState.ABORTED
    if not message.is_error:
        return CardState.DONE
    return CardState.SKIPPED if text_of(message.content) == SKIPPED_TOOL_RESULT_TEXT else CardState.FAILED


def format_call_duration(milliseconds: float | None) -> str:
    """Formats the duration of a call; empty if it is too short to matter."""
    return format_seconds((milliseconds or 0) / 1000)


USER_COMMAND_PREVIEW_LINES = 10
"""The number of output lines of a user's command shown without opening the block."""


def user_command_block(block_id: str, message: BashExecutionMessage) -> CustomBlock:
    notes = [
        "cancelled" if message.cancelled else "",
        f"full output: {message.full_output_path}" if message.full_output_path else "",
        "not sent to the model" if message.exclude_from_context else "",
    ]
    block = CommandBlock(
        command=message.command,
        output=message.output,
        exit_code=message.exit_code,
        note=", ".join(note for note in notes if note),
        is_cut=message.truncated,
    )
    state = CardState.FAILED if message.exit_code else CardState.DONE
    ending = f"exit {message.exit_code}" if message.exit_code else ""
    kept = "not sent to the model" if message.exclude_from_context else ""
    return CustomBlock(
        id=block_id,
        kind=CustomBlockKind.COMMAND,
        card=Card(
            title="",
            subject=message.command.split("\n", 1)[0],
            summary=" · ".join(part for part in (ending, kept) if part),
            blocks=(block,),
        ),
        preview_lines=USER_COMMAND_PREVIEW_LINES,
        state=CardState.ABORTED if message.cancelled else state,
    )


def custom_message_block(block_id: str, message: CustomMessage, renderers: EntryRenderers) -> CustomBlock:
    """Returns the transcript block of a message that is neither prompt nor answer: a file map, a job's result, a Python
    cell, an extension's message."""
    kind = _BLOCK_KIND_BY_CUSTOM_TYPE.get(message.custom_type, CustomBlockKind.EXTENSION)
    drawn = renderers.message_block(block_id, message, kind)
    if drawn is not None:
        return drawn
    if message.custom_type == CELL_ENTRY_TYPE:
        return finished_cell_block(block_id, message.content[1:], message.details, is_excluded=False)
    details = message.details if isinstance(message.details, dict) else {}
    text = text_of(message.content)
    if message.custom_type == GOAL_CHECK_MESSAGE_TYPE:
        return goal_check_block(block_id, text, details)
    if kind is CustomBlockKind.FILE_MAP:
        card = _map_card(text, details)
    elif kind is CustomBlockKind.JOB:
        return _job_block(block_id, text, details)
    elif kind is CustomBlockKind.DIAGNOSTICS:
        return _diagnostics_block(block_id, text, details)
    elif message.custom_type == RESOLVED:
        became = text.partition(". ")[2] or text
        card = Card(title="staged changes", subject=one_line(became)[:200], blocks=(TextBlock(text=text),))
    elif message.custom_type == MEMORY_NOTE_MESSAGE_TYPE:
        line, path = str(details.get("line", "")), str(details.get("path", ""))
        card = Card(title="note", subject=line or text, summary=path, blocks=(TextBlock(text=text),))
    elif message.custom_type == FILE_RESTORE_MESSAGE_TYPE:
        card = _files_card(text, details)
    else:
        card = Card(
            title=_BLOCK_TITLE_BY_CUSTOM_TYPE.get(message.custom_type, message.custom_type),
            subject=text.split("\n", 1)[0][:120],
            blocks=(MarkdownBlock(text=renderers.transform_text(text, "custom")),),
        )
    return CustomBlock(id=block_id, kind=kind, card=card)


def _diagnostics_block(block_id: str, text: str, details: dict[str, object]) -> CustomBlock:
    """Returns the transcript block of new diagnostics of language servers: a summary, with the full text for the model
    inside."""
    try:
        found = from_wire(cast("Json", details.get("problems")), tuple[Diagnostic, ...])
    except msgspec.ValidationError:  # an entry of another program
        found = ()
    total = details.get("total")
    count = total if isinstance(total, int) else len(found)
    files = len({one.path for one in found})
    rows = tuple(map(diagnostic_line, found))
    more = f"{count - len(rows):,} more" if count > len(rows) else ""
    card = Card(
        title="diagnostics",
        subject=f"{count:,} new in {files} file{'' if files == 1 else 's'}",
        summary=", ".join(dict.fromkeys(one.source for one in found if one.source)),
        blocks=(ListBlock(items=rows, note=more) if rows else TextBlock(text=text),),
    )
    return CustomBlock(
        id=block_id,
        kind=CustomBlockKind.DIAGNOSTICS,
        card=card,
        preview_lines=DIAGNOSTICS_PREVIEW_LINES,
        tone=AppNoteKind.ERROR if any(one.severity == "error" for one in found) else AppNoteKind.WARNING,
    )


def _files_card(text: str, details: dict[str, object]) -> Card:
    """Returns the card that tells which files were restored, with the text for the model inside."""
    files, kept = details.get("files"), details.get("kept")
    if isinstance(hunks := details.get("hunks"), int):
        parts = f"{hunks} hunk{'' if hunks == 1 else 's'} reverted or edited"
        return Card(title="review", subject=parts, blocks=(TextBlock(text=text),))
    what = "changed again" if details.get("redone") else "restored"
    subject = f"{files} file{'' if files == 1 else 's'} {what}"
    return Card(
        title="undo",
        subject=subject,
        summary=f"{kept} not changed" if kept else "",
        blocks=(TextBlock(text=text),),
    )


def _job_block(block_id: str, text: str, details: dict[str, object]) -> CustomBlock:
    """Returns the transcript block of a finished background job. Its state is pending until the next request sends the
    result to the model."""
    state = str(details.get("state", ""))
    is_lost = state == "lost"
    return CustomBlock(
        id=block_id,
        kind=CustomBlockKind.JOB,
        card=Card(
            title=str(details.get("jobId", "job")),
            subject=str(details.get("title", "")),
            summary="no result" if is_lost else "" if state == "done" else state,
            blocks=(TextBlock(text=text, tail=True),),
        ),
        state=_CARD_STATE_BY_JOB_STATE.get(state, CardState.DONE),
        label="stopped at the end of the session" if is_lost else PENDING,
    )


def _map_card(text: str, details: dict[str, object]) -> Card:
    path = str(details.get("filePath", ""))
    total_lines = details.get("totalLines", 0)
    language = str(details.get("language", ""))
    lines = total_lines if isinstance(total_lines, int) else 0
    return Card(
        title="map",
        subject=path,
        summary=f"{lines:,} lines, {details.get('symbolCount', 0)} symbols, {language}",
        blocks=(MapBlock(path=path, text=text, language=language, total_lines=lines),),
    )


def compaction_block(
    block_id: str, made: CompactionEntry | CompactionResult, renderers: EntryRenderers, *, hint: str = ""
) -> CustomBlock:
    about = f"from {format_token_count(made.tokens_before)} tokens"
    return branch_summary_block(
        block_id, CustomBlockKind.COMPACTION, made.summary, about, renderers, hint=hint
    )


def branch_summary_block(
    block_id: str,
    kind: CustomBlockKind,
    summary: str,
    about: str,
    renderers: EntryRenderers,
    *,
    hint: str = "",
) -> CustomBlock:
    body = MarkdownBlock(text=renderers.transform_text(summary, "summary"))
    card = Card(title=str(kind), subject=about, summary=hint, blocks=(body,))
    return CustomBlock(id=block_id, kind=kind, card=card)
