"""Messages as transcript blocks: what a stored conversation looks like, and each finished message of a live one."""

from collections.abc import Iterable, Iterator

from app.agent.outcomes import ABORTED, SKIPPED, from_message
from app.engine.toolbox import Toolbox
from app.values.content import Content, Image, Text, ToolCall, UserContent, text_of
from app.values.content import Thinking as ThinkingContent
from app.values.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    ToolResultMessage,
    UserMessage,
)
from tools.results import Card, CommandBlock, ImageBlock, MapBlock, MarkdownBlock, TextBlock
from widgets.transcript.blocks import (
    Block,
    CardBlock,
    CardState,
    CustomBlock,
    CustomKind,
    Failure,
    Prose,
    ReplyBlock,
    ReplyState,
    Thinking,
    UserBlock,
)

_KINDS = {
    "file-map": CustomKind.FILE_MAP,
    "read-recovery": CustomKind.READ_RECOVERY,
    "background-result": CustomKind.JOB,
}


def blocks_of(entries: Iterable[Entry], toolbox: Toolbox) -> list[Block]:
    """The whole branch, compacted parts included: what left the context is still there to be read."""
    places: dict[str, int] = {}
    calls: dict[str, tuple[str, ToolCall]] = {}
    blocks: list[Block] = []
    for entry in entries:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
            known = calls.get(entry.message.tool_call_id)
            if known is not None:
                block_id, call = known
                blocks[places[block_id]] = result_block(block_id, call, entry.message, toolbox)
            continue
        for block in _blocks_of_entry(entry, toolbox):
            places[block.id] = len(blocks)
            blocks.append(block)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            for call in entry.message.tool_calls:
                calls[call.id] = (card_id(entry.id, call.id), call)
    return blocks


def _blocks_of_entry(entry: Entry, toolbox: Toolbox) -> Iterator[Block]:
    match entry:
        case MessageEntry(message=UserMessage() as message):
            yield user_block(entry.id, message)
        case MessageEntry(message=AssistantMessage() as message):
            yield from _assistant_blocks(entry.id, message, toolbox)
        case MessageEntry(message=BashExecutionMessage() as message):
            yield command_block(entry.id, message)
        case CustomMessageEntry(display=True):
            yield custom_block(
                entry.id,
                CustomMessage(
                    custom_type=entry.custom_type, content=entry.content, details=entry.details, display=True
                ),
            )
        case CompactionEntry():
            yield summary_block(
                entry.id, CustomKind.COMPACTION, entry.summary, f"from {entry.tokens_before:,} tokens"
            )
        case BranchSummaryEntry():
            yield summary_block(entry.id, CustomKind.BRANCH_SUMMARY, entry.summary, "of another branch")


def card_id(message_id: str, call_id: str) -> str:
    """Some providers number their calls anew in every answer, so a call's own id is not enough."""
    return f"{message_id}/{call_id}"


def user_block(block_id: str, message: UserMessage, note: str = "") -> UserBlock:
    return UserBlock(id=block_id, text=text_of(message.content), images=_images(message.content), note=note)


def _images(content: str | tuple[UserContent, ...]) -> tuple[ImageBlock, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        ImageBlock(mime_type=block.mime_type, byte_count=len(block.data) * 3 // 4, data=block.data)
        for block in content
        if isinstance(block, Image)
    )


def _assistant_blocks(block_id: str, message: AssistantMessage, toolbox: Toolbox) -> Iterator[Block]:
    reply = reply_block(block_id, message)
    if reply is not None:
        yield reply
    for call in message.tool_calls:
        yield CardBlock(id=card_id(block_id, call.id), card=toolbox.card(call), state=CardState.ABORTED)


def reply_block(block_id: str, message: AssistantMessage) -> ReplyBlock | None:
    """None for an answer that only calls tools."""
    parts = tuple(part for block in message.content if (part := _part(block)) is not None)
    state, failure = reply_state(message)
    if not parts and state is ReplyState.DONE:
        return None
    return ReplyBlock(id=block_id, parts=parts, state=state, failure=failure)


def _part(block: Content) -> Thinking | Prose | None:
    match block:
        case Text() if block.text:
            return Prose(text=block.text)
        case ThinkingContent() if block.thinking:
            return Thinking(text=block.thinking)
    return None


def reply_state(message: AssistantMessage) -> tuple[ReplyState, Failure | None]:
    match message.stop_reason:
        case "error":
            text = message.error_message or "The request failed."
            return ReplyState.ERROR, Failure(message=text, next_step="Retry, or go on.", can_retry=True)
        case "aborted":
            return ReplyState.ABORTED, None
        case "length":
            return ReplyState.TRUNCATED, Failure(
                message="The answer reached the model's output limit.", next_step="Ask it to go on."
            )
    return ReplyState.DONE, None


def result_block(block_id: str, call: ToolCall, message: ToolResultMessage, toolbox: Toolbox) -> CardBlock:
    return CardBlock(
        id=block_id,
        card=toolbox.card(call, from_message(message)),
        state=result_state(message),
        timing=duration_text(message.duration_ms),
    )


def result_state(message: ToolResultMessage) -> CardState:
    if not message.is_error:
        return CardState.DONE
    text = text_of(message.content)
    if text == SKIPPED:
        return CardState.SKIPPED
    return CardState.ABORTED if text == ABORTED else CardState.FAILED


def duration_text(milliseconds: float | None) -> str:
    """Nothing for what was too quick to notice."""
    if milliseconds is None or milliseconds < 100:
        return ""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f}s"
    return f"{int(seconds // 60)}m {int(seconds % 60)}s"


def command_block(block_id: str, message: BashExecutionMessage) -> CustomBlock:
    notes = [
        "cancelled" if message.cancelled else "",
        f"full output: {message.full_output_path}" if message.full_output_path else "",
        "not in the context" if message.exclude_from_context else "",
    ]
    block = CommandBlock(
        command=message.command,
        output=message.output,
        exit_code=message.exit_code,
        note=", ".join(note for note in notes if note),
    )
    is_failed = bool(message.exit_code) or message.cancelled
    return CustomBlock(
        id=block_id,
        kind=CustomKind.COMMAND,
        card=Card(
            title="!!" if message.exclude_from_context else "!",
            subject=message.command.split("\n", 1)[0],
            summary=f"exit {message.exit_code}" if message.exit_code else "",
            blocks=(block,),
        ),
        state=CardState.FAILED if is_failed else CardState.DONE,
    )


def custom_block(block_id: str, message: CustomMessage) -> CustomBlock:
    """A file map, a background result, an extension's message."""
    kind = _KINDS.get(message.custom_type, CustomKind.EXTENSION)
    details = message.details if isinstance(message.details, dict) else {}
    text = text_of(message.content)
    if kind is CustomKind.FILE_MAP:
        card = _map_card(text, details)
    elif kind is CustomKind.JOB:
        card = Card(
            title=str(details.get("jobId", "job")),
            subject=str(details.get("title", "")),
            summary=str(details.get("state", "")),
            blocks=(TextBlock(text=text, tail=True),),
        )
    else:
        card = Card(
            title=message.custom_type,
            subject=text.split("\n", 1)[0][:120],
            blocks=(MarkdownBlock(text=text),),
        )
    return CustomBlock(id=block_id, kind=kind, card=card)


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


def summary_block(block_id: str, kind: CustomKind, summary: str, about: str) -> CustomBlock:
    return CustomBlock(
        id=block_id,
        kind=kind,
        card=Card(title=str(kind), subject=about, blocks=(MarkdownBlock(text=summary),)),
    )
