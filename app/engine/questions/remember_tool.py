"""The `remember` tool, with which the model proposes a line for a file that every session reads; the user decides."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from app.engine.questions.form_questions import UserFormQuestions
from app.resources.context_files import AppendableContextFile
from app.values.forms import FormChoice, FormField, UserForm
from app.values.user_errors import UserError
from tools.argument_schema import make_arguments_schema
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, TextBlock, ToolResult, text_result

_REMEMBER_WITHOUT_USER_TEXT = (
    "The user cannot be asked in this run, so nothing was saved. Put the line into your answer instead."
)
_DO_NOT_REMEMBER_VALUE = "no"


class RememberArguments(msgspec.Struct, frozen=True, kw_only=True):
    line: Annotated[str, msgspec.Meta(description="One fact or rule, in one line")]


def remember_tool(
    forms: UserFormQuestions,
    files: Callable[[], Sequence[AppendableContextFile]],
    add: Callable[[AppendableContextFile, str], Awaitable[str]],
) -> Tool:
    async def run(arguments: RememberArguments, context: ToolContext) -> ToolResult:
        line = escape_controls(" ".join(arguments.line.split()))
        if not line:
            raise ToolError("The line is empty.")
        if not forms.can_ask:
            raise ToolError(_REMEMBER_WITHOUT_USER_TEXT)
        offered = files()
        reply = await forms.ask_form(_remember_form(line, offered))
        answer = (
            str(reply.content.get("where", _DO_NOT_REMEMBER_VALUE))
            if reply.action == "accept"
            else _DO_NOT_REMEMBER_VALUE
        )
        file = next((one for one in offered if str(one.path) == answer), None)
        if file is None:
            return text_result("The user did not save it. Do not propose it again.")
        try:
            dated = await add(file, line)
        except UserError as problem:
            raise ToolError(str(problem)) from None
        return text_result(
            f"The user saved it in {file.path}:\n- {dated}", details={"path": str(file.path), "line": dated}
        )

    return Tool(
        name="remember",
        description="Propose a lasting fact or rule for all later sessions. The user decides whether to save it.",
        schema=make_arguments_schema(RememberArguments),
        arguments=RememberArguments,
        effects=declare_no_effects,
        kind="think",
        is_for_helpers=False,
        run=run,
        show=_remember_card,
        mode="sequential",
        is_read_only=True,
    )


def _remember_form(line: str, files: Sequence[AppendableContextFile]) -> UserForm:
    choices = [
        *(FormChoice(value=str(one.path), title=f"Save it in {one.path}", detail=one.label) for one in files),
        FormChoice(value=_DO_NOT_REMEMBER_VALUE, title="Do not save it"),
    ]
    asked = f"Remember this in every session?\n\n- {line}"
    return UserForm(
        message=asked,
        fields=(
            FormField(
                name="where", title="Remember", kind="choice", description=asked, choices=tuple(choices)
            ),
        ),
    )


def _remember_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = first_text_argument(arguments, "line")
    if result is None:
        return Card(title="remember", subject=subject)
    saved = (result.details or {}).get("path")
    summary = f"saved in {saved}" if saved else "not saved"
    return Card(title="remember", subject=subject, summary=summary, blocks=(TextBlock(text=result.text),))
