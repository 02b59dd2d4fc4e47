"""The `edit` tool: replacements in one file or several, all or none. What an edit means is in `tools.edits`."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from tools.arguments import text_argument
from tools.base import Tool, ToolContext, ToolError
from tools.edits.applying import EditedFile, Make, edit_files, result_of, target_of
from tools.edits.card import edit_card
from tools.edits.diffs import diff_texts
from tools.edits.editing import Edited, apply_edits
from tools.edits.replacing import Edit
from tools.edits.shown import ShownLines
from tools.edits.syntax import SyntaxOf
from tools.files.places import touched
from tools.results import Card, Json, ToolResult
from tools.schema import schema_of
from tools.spellings import PATH, speller
from tools.text import visible
from tools.touches import Touches


class Replacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old_text: Annotated[str, msgspec.Meta(description="Text to replace, exactly as in the file")]
    new_text: Annotated[str, msgspec.Meta(description="Text to put in its place")]
    all: Annotated[bool | None, msgspec.Meta(description="Replace it wherever it is, however often")] = None
    path: Annotated[str | None, msgspec.Meta(description="The file, if it is another than path")] = None


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="File to edit (relative or absolute)")]
    edits: Annotated[
        Annotated[tuple[Replacement, ...], msgspec.Meta(min_length=1)],
        msgspec.Meta(
            description="Replacements, each matched against the file as it is now; they must not overlap",
        ),
    ]

    def touches(self, context: ToolContext) -> Touches:
        return Touches(changes=touched(context, *self.by_path()))

    def by_path(self) -> dict[str, list[Edit]]:
        """The edits of each file, files in the order in which they are named."""
        found: dict[str, list[Edit]] = {}
        for edit in self.edits:
            made = Edit(old_text=edit.old_text, new_text=edit.new_text, replaces_all=bool(edit.all))
            found.setdefault(edit.path or self.path, []).append(made)
        return found


def edit_tool() -> Tool:
    return Tool(
        name="edit",
        label="edit",
        description=(
            "Replace text in files. Every oldText must be in its file exactly once, unless all is set; all edits are "
            "matched against the original and applied together, or none is. Put several changes of one file into one "
            "call. Notebooks are edited as read shows them."
        ),
        schema=schema_of(EditArguments),
        arguments=EditArguments,
        prepare=_prepare,
        run=_run,
        show=_show,
        snippet="Make precise changes in a file",
        guidelines=(
            "Keep oldText as short as is unique, and merge changes that touch or are near each other into one edit",
        ),
    )


_spelled = speller(
    EditArguments,
    PATH,
    dict.fromkeys(("old", "old_string", "old_str", "search", "find", "old_text"), "oldText"),
    dict.fromkeys(("new", "new_string", "new_str", "replace", "replacement", "new_text"), "newText"),
    dict.fromkeys(("changes", "replacements", "edit"), "edits"),
    dict.fromkeys(("replace_all", "replaceAll", "every", "global"), "all"),
    dict.fromkeys(("patch", "diff", "input"), "diff"),
)
_PAIR = ("oldText", "newText", "all")


def _prepare(raw: dict[str, Any]) -> dict[str, Any]:
    """Older and common other forms: one pair at the top level, edits as JSON text, one edit without a list."""
    out = _spelled(raw)
    edits: Json = out.get("edits")
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except ValueError:
            return out
    pairs: list[Json] = list(edits) if isinstance(edits, list) else [edits] if isinstance(edits, dict) else []
    pairs = [_spelled(pair) if isinstance(pair, dict) else pair for pair in pairs]
    for_all = {"all": out.pop("all")} if "all" in out else {}
    if isinstance(out.get("diff"), str) and "edits" not in out:
        pairs.append({"oldText": out.pop("diff"), "newText": ""})
    if "oldText" in out and "newText" in out:
        pairs.append({name: out.pop(name) for name in _PAIR if name in out})
    out["edits"] = [{**for_all, **pair} if isinstance(pair, dict) else pair for pair in pairs]
    named = [pair.get("path") for pair in pairs if isinstance(pair, dict)]
    if "path" not in out and named and all(named):
        out["path"] = named[0]
    return out


async def _run(arguments: EditArguments, context: ToolContext) -> ToolResult:
    jobs: dict[str, tuple[EditedFile, list[Edit]]] = {}
    for raw, edits in arguments.by_path().items():
        if not raw.strip():
            raise ToolError("The path is empty. Pass the file to edit.")
        target = await target_of(raw, context)
        jobs.setdefault(target.real, (target, []))[1].extend(edits)
    return result_of(
        await edit_files(context, [(target, _replaces(edits)) for target, edits in jobs.values()])
    )


def _replaces(edits: list[Edit]) -> Make:
    def make(target: EditedFile, data: bytes, shown: ShownLines, syntax: Callable[[str], SyntaxOf]) -> Edited:
        return apply_edits(data, edits, target.shown, shown, syntax, is_notebook=target.is_notebook)

    return make


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    path = text_argument(arguments, "path")
    return edit_card("edit", path, result, lambda: _preview(path, arguments.get("edits")))


def _preview(path: str, edits: Json) -> str:
    """What the arguments alone tell, while they stream in or wait for approval."""
    parts: list[str] = []
    pairs: list[Json] = edits if isinstance(edits, list) else []
    for edit in pairs:
        if isinstance(edit, dict) and isinstance(edit.get("oldText"), str):
            new = edit.get("newText")
            new = new if isinstance(new, str) else ""
            diff = diff_texts(path, visible(edit["oldText"]) + "\n", visible(new) + "\n")
            # Where in the file it will be is not known yet.
            parts.append("\n".join(line for line in diff.patch.split("\n")[2:] if line))
    return "\n".join(parts)
