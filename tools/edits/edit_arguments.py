"""Arguments of an editing tool in all dialects; the first call loads the code that executes them."""

from typing import Annotated, Literal

import msgspec

from tools.argument_schema import UNDECLARED_ARGUMENT_META
from tools.call_effects import Effects
from tools.edits.files_named_by_edits import PATCH_MOVE_HEADER, paths_in_patch
from tools.files.path_arguments import resolve_path_arguments
from tools.tool_definition import ToolContext
from tools.tool_result_values import ToolResult


class OldTextReplacementArgument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old_text: Annotated[str, msgspec.Meta(description="Text to replace, exactly as in the file")]
    new_text: Annotated[str, msgspec.Meta(description="Text to put in its place")]
    all: Annotated[bool | None, msgspec.Meta(description="Replace it wherever it is, however often")] = None
    path: Annotated[str | None, msgspec.Meta(description="The file, if it is another than path")] = None


class AnchoredChangeArgument(
    msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}
):
    path: Annotated[str, msgspec.Meta(description="File to edit")]
    first: Annotated[
        str,
        msgspec.Meta(description='Anchor of the first line, e.g. "41th"; or "start" or "end" of the file'),
    ]
    last: Annotated[
        str | None, msgspec.Meta(description="Anchor of the last line; without it the first line alone")
    ] = None
    place: Annotated[
        Literal["replace", "before", "after"] | None,
        msgspec.Meta(description="Whether lines replace these (default), or go before or after them"),
    ] = None
    lines: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="New lines without anchors, indented as in the file; [] deletes"),
    ]


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of all forms of edit calls: replacements, anchored changes and patches; each editing tool declares
    those of one form."""

    path: Annotated[str, UNDECLARED_ARGUMENT_META] = ""
    edits: Annotated[tuple[OldTextReplacementArgument, ...], UNDECLARED_ARGUMENT_META] = ()
    changes: Annotated[tuple[AnchoredChangeArgument, ...], UNDECLARED_ARGUMENT_META] = ()
    input: Annotated[str, UNDECLARED_ARGUMENT_META] = ""

    def effects(self, context: ToolContext) -> Effects:
        paths = resolve_path_arguments(context, *self.named_paths())
        moved = (
            paths if PATCH_MOVE_HEADER in self.input else ()
        )  # the content of a moved file can be read at its new place
        return Effects(reads=moved, writes=paths, acts_as="edit")

    def named_paths(self) -> tuple[str, ...]:
        """Returns the paths of all files that an edit call names, in the order of the call."""
        of_edits = [edit.path or self.path for edit in self.edits]
        named = [*of_edits, *(change.path for change in self.changes), *paths_in_patch(self.input)]
        return tuple(dict.fromkeys(named))


async def run_edit(arguments: EditArguments, context: ToolContext) -> ToolResult:
    # The start-up needs none of the dialects, which are twenty modules.
    from tools.edits.edit_execution import execute_edit  # noqa: PLC0415

    return await execute_edit(arguments, context)
