"""Builds the requests for summaries and combines several answers into one summary.

The caller sends the requests; this module knows no provider."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from app.compaction.branch_content import BranchMessagesToSummarise
from app.compaction.compaction_plan import CompactionPlan
from app.compaction.conversation_text import conversation_text
from app.values.messages import Message
from app.values.usage import Usage

SUMMARY_SYSTEM_PROMPT = (
    "You write summaries of conversations between a person and a coding agent, so that the agent can go on "
    "with nothing but your summary. Do not continue the conversation and do not answer anything in it. Write "
    "the summary in the structure that you are given, and nothing else."
)

_SUMMARY_TEMPLATE = """\
## Goal
What the person wants to reach; several goals as a list.

## Constraints & Preferences
What the person asked for or ruled out; "(none)" if there is nothing.

## Progress
### Done
- [x] What is finished, with the files it touched.
### In Progress
- [ ] What was being worked on.
### Blocked
- What stands in the way, if anything.

## Key Decisions
- **Decision**: why it was taken.

## Next Steps
1. What comes next, in order.

## Critical Context
- Names, values, error texts and findings that the work cannot go on without; "(none)" if there are none."""

_NEW_SUMMARY_REQUEST = (
    "Summarise the conversation above in this structure. Keep exact file paths, names and error messages."
    "\n\n" + _SUMMARY_TEMPLATE
)
_UPDATE_SUMMARY_REQUEST = (
    "The conversation above is what happened since the summary in <previous-summary> was written. Write the "
    "summary anew so that it covers both: keep everything of the old one that still matters, move what was "
    "finished to Done, and bring Next Steps up to date. Use this structure, with exact file paths, names and "
    "error messages.\n\n" + _SUMMARY_TEMPLATE
)
_TURN_PREFIX_SUMMARY_REQUEST = (
    "The conversation above is the first part of a turn whose later part is kept word for word. Summarise "
    "this part, so that the later one can be understood:\n\n## Original Request\nWhat the person asked for.\n\n"
    "## Early Progress\n- What was decided and done.\n\n## Context for Suffix\n- What one must know to follow on."
)
_BRANCH_SUMMARY_REQUEST = (
    "The conversation above is a branch that the person has left to go back to an earlier point. Summarise it "
    "for the agent that goes on there, in this structure, with exact file paths, names and error messages.\n\n"
    + _SUMMARY_TEMPLATE.split("\n\n## Critical Context")[0]
)
BRANCH_SUMMARY_PREAMBLE = (
    "The user explored a different conversation branch before returning here. Summary of that branch:\n\n"
)
_NO_HISTORY_SUMMARY_TEXT = "No prior history."
_SPLIT_TURN_HEADING = "\n\n---\n\n**Turn Context (split turn):**\n\n"


class WrittenSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer to a request for a summary."""

    text: str
    usage: Usage = Usage()


SUMMARY_SHARE, PREFIX_SHARE = 0.8, 0.5
"""The shares of the reserved answer tokens that may be used: for a summary, and for the summary of a split turn's
beginning."""

RequestSummary = Callable[[str, float], Awaitable[WrittenSummary]]
"""A function that sends a request with `SUMMARY_SYSTEM_PROMPT`; the answer may take the given share of the reserved
tokens. Returns the whole answer."""


async def write_summary(
    preparation: CompactionPlan, write: RequestSummary, instructions: str | None = None
) -> WrittenSummary:
    """Writes one summary of all messages that a compaction removes, with the files that they touched."""
    usage = Usage()
    history = preparation.previous_summary or _NO_HISTORY_SUMMARY_TEXT
    if preparation.to_summarise:
        previous = preparation.previous_summary
        wanted = _UPDATE_SUMMARY_REQUEST if previous else _NEW_SUMMARY_REQUEST
        request = _summary_request(preparation.to_summarise, wanted, instructions, previous=previous)
        written = await write(request, SUMMARY_SHARE)
        history, usage = written.text, usage + written.usage
    if preparation.turn_prefix:
        written = await write(
            _summary_request(preparation.turn_prefix, _TURN_PREFIX_SUMMARY_REQUEST, instructions),
            PREFIX_SHARE,
        )
        history, usage = f"{history}{_SPLIT_TURN_HEADING}{written.text}", usage + written.usage
    return WrittenSummary(text=history.strip() + preparation.files.as_text(), usage=usage)


def branch_summary_request(
    branch: BranchMessagesToSummarise, instructions: str | None = None, *, replace: bool = False
) -> str:
    """Returns the request for a summary of a session branch. `replace`: the user's instructions replace the
    default ones."""
    wanted, focus = (
        (instructions, None) if replace and instructions else (_BRANCH_SUMMARY_REQUEST, instructions)
    )
    return _summary_request(branch.messages, wanted, focus, left_out=branch.omitted_count)


def _summary_request(
    messages: Sequence[Message],
    wanted: str,
    instructions: str | None,
    *,
    previous: str | None = None,
    left_out: int = 0,
) -> str:
    told = f"[{left_out} older messages are left out here]\n\n" if left_out else ""
    parts = [f"<conversation>\n{told}{conversation_text(messages)}\n</conversation>"]
    if previous:
        parts.append(f"<previous-summary>\n{previous}\n</previous-summary>")
    parts.append(wanted)
    if instructions:
        parts.append(f"Additional focus: {instructions}")
    return "\n\n".join(parts)
