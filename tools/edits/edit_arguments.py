"""Arguments of an editing tool in all dialects; the first call loads the code that executes them."""

from typing import Annotated, Literal

import msgspec

from tools.base import ToolContext
from tools.edits.named_files import PATCH_MOVE_HEADER, paths_in_patch
from tools.effects import Effects
from tools.files.path_arguments import resolve_path_arguments
from tools.results import ToolResult
from tools.schema import UNDECLARED_ARGUMENT


class Replacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old_text: Annotated[str, msgspec.Meta(description="Text to replace, exactly as in the file")]
    new_text: Annotated[str, msgspec.Meta(description="Text to put in its place")]
    all: Annotated[bool | None, msgspec.Meta(description="Replace it wherever it is, however often")] = None
    path: Annotated[str | None, msgspec.Meta(description="The file, if it is another than path")] = None


class AnchoredChange(msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
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

    path: Annotated[str, UNDECLARED_ARGUMENT] = ""
    edits: Annotated[tuple[Replacement, ...], UNDECLARED_ARGUMENT] = ()
    changes: Annotated[tuple[AnchoredChange, ...], UNDECLARED_ARGUMENT] = ()
    input: Annotated[str, UNDECLARED_ARGUMENT] = ""

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
