"""The `resolve` tool: applies or discards staged changes. It is declared to the model only while some are pending."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects
from tools.edits.edit_card import make_edit_card
from tools.edits.staged_actions import UnknownStagedAction
from tools.files.file_errors import make_file_error
from tools.session_workspace import workspace_of_context
from tools.streaming_arguments import first_text_argument
from tools.text_sanitizing import escape_controls
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import Card, ToolResult, text_result


class ResolveArguments(msgspec.Struct, frozen=True, kw_only=True):
    action: Annotated[
        Literal["apply", "discard"], msgspec.Meta(description="Write the staged changes, or drop them")
    ]
    reason: Annotated[str, msgspec.Meta(description="Why, in a few words")]
    id: Annotated[str | None, msgspec.Meta(description="Which one, if several wait")] = None
    files: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="Only these files of a helper's changes; the others stay staged"),
    ] = ()

    def effects(self, context: ToolContext) -> Effects:
        is_applied = self.action == "apply"
        return Effects(
            writes=tuple(
                workspace_of_context(context).staged_actions.paths_written_by_staged_action(
                    self.id, self.files
                )
            )
            if is_applied
            else (),
            acts_as="edit",
        )


def make_resolve_tool() -> Tool:
    return Tool(
        name="resolve",
        description=(
            "Apply or discard changes that were staged and shown as a preview. Applying writes exactly "
            "what was shown, "
            "or nothing if a file has changed since; what a helper changed in its copy is merged, file by "
            "file."
        ),
        schema=make_arguments_schema(ResolveArguments),
        arguments=ResolveArguments,
        effects=ResolveArguments.effects,
        kind="edit",
        run=run_resolve,
        show=_make_resolve_card,
        snippet="Apply or discard staged changes",
        mode="sequential",
    )


async def run_resolve(arguments: ResolveArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of_context(context)
    try:
        resolved = await workspace.staged_actions.resolve_staged_action(
            arguments.id,
            arguments.action,
            arguments.reason,
            by="model",
            call_id=context.call_id,
            files=arguments.files,
        )
    except UnknownStagedAction as problem:
        raise ToolError(str(problem)) from None
    except OSError as problem:
        raise make_file_error(problem, "write", str(problem.filename), workspace.files) from None
    staged = resolved.staged
    if not resolved.is_done:
        raise ToolError(resolved.text)
    details: dict[str, Any] = {"label": escape_controls(staged.label), "action": arguments.action}
    if arguments.action == "apply":
        details |= {
            "added": sum(file.diff.added for file in staged.files),
            "removed": sum(file.diff.removed for file in staged.files),
        }
    return text_result(escape_controls(resolved.text), details=details)


def _make_resolve_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    action = first_text_argument(arguments, "action")
    subject = " ".join(part for part in (action, first_text_argument(arguments, "id")) if part)
    return make_edit_card("resolve", subject, result, lambda: "")
