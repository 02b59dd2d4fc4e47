"""Converts bayou's message types to the user, assistant and tool messages that providers know. Pure, without
wire formats."""

from collections.abc import Sequence
from typing import assert_never

from app.values.content import UserContent
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)

ProviderMessage = UserMessage | AssistantMessage | ToolResultMessage
"""The types of messages that providers accept."""


def to_provider_messages(messages: Sequence[Message]) -> list[ProviderMessage]:
    """Converts messages of a session to those that providers accept. System messages are omitted, because the
    context's prompt and tools have their content."""
    sent: list[ProviderMessage] = []
    for message in messages:
        match message:
            case UserMessage() | AssistantMessage() | ToolResultMessage():
                sent.append(message)
            case CustomMessage():
                sent.append(_user_message(message, message.content))
            case BashExecutionMessage():
                if not message.exclude_from_context:
                    sent.append(_user_message(message, _shell_command_text(message)))
            case BranchSummaryMessage():
                sent.append(
                    _user_message(message, _introduce_summary(_BRANCH_SUMMARY_INTRODUCTION, message.summary))
                )
            case CompactionSummaryMessage():
                sent.append(
                    _user_message(
                        message, _introduce_summary(_COMPACTION_SUMMARY_INTRODUCTION, message.summary)
                    )
                )
            case SystemMessage() | UnknownMessage():
                pass
            case _:
                assert_never(message)
    return sent


_BRANCH_SUMMARY_INTRODUCTION = (
    "Before this point another way was tried and left. What happened there, in short:"
)
_COMPACTION_SUMMARY_INTRODUCTION = (
    "The conversation before this point has been replaced by this summary of it:"
)


def _user_message(message: Message, content: str | tuple[UserContent, ...]) -> UserMessage:
    return UserMessage(id=message.id, timestamp=message.timestamp, content=content)


def _introduce_summary(introduction: str, summary: str) -> str:
    return f"{introduction}\n\n<summary>\n{summary}\n</summary>"


def _shell_command_text(message: BashExecutionMessage) -> str:
    fence = "```"
    while fence in message.output:
        fence += "`"
    parts = [f"I ran `{message.command}` in the shell."]
    parts.append(
        f"{fence}\n{message.output.rstrip()}\n{fence}" if message.output.strip() else "It printed nothing."
    )
    if message.cancelled:
        parts.append("It was stopped before it ended.")
    elif message.exit_code:
        parts.append(f"It ended with exit code {message.exit_code}.")
    if message.truncated and message.full_output_path:
        parts.append(f"Only a part is shown; all of it is in {message.full_output_path}.")
    return "\n".join(parts)
