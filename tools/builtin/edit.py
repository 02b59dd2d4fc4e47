"""The `edit` tool: several replacements in one file, all or none. Matching is in `tools.edits.matching`."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tools.arguments import number_detail, text_argument, text_detail
from tools.base import Tool, ToolContext, ToolError
from tools.edits.diffs import diff_texts
from tools.edits.editing import Edit, Edited, apply_edits
from tools.edits.notebooks import apply_to_notebook
from tools.files.failures import file_error
from tools.files.mutations import FileState, NewContent
from tools.files.paths import display
from tools.files.places import locate, touched
from tools.results import Card, DiffBlock, Json, TextBlock, TextPart, ToolResult
from tools.schema import schema_of
from tools.spellings import PATH, speller
from tools.text import visible
from tools.touches import Touches
from tools.workspace import workspace_of


class Replacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    old_text: Annotated[
        str, msgspec.Meta(description="Text to replace, exactly as in the file and unique in it")
    ]
    new_text: Annotated[str, msgspec.Meta(description="Text to put in its place")]
    replace_all: Annotated[
        bool | None, msgspec.Meta(description="Replace it wherever it is, however often")
    ] = None


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="File to edit (relative or absolute)")]
    edits: Annotated[
        Annotated[tuple[Replacement, ...], msgspec.Meta(min_length=1)],
        msgspec.Meta(
            description="Replacements, each matched against the file as it is now; they must not overlap",
        ),
    ]

    def touches(self, context: ToolContext) -> Touches:
        return Touches(changes=touched(context, self.path))


def edit_tool() -> Tool:
    return Tool(
        name="edit",
        label="edit",
        description=(
            "Replace text in one file. Every oldText must be in the file exactly once, unless replaceAll is set; all "
            "edits are matched against the original and applied together, or none is. Put several changes of one file "
            "into one call. Notebooks are edited as read shows them."
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
    {"replace_all": "replaceAll", "all": "replaceAll"},
)
_PAIR = ("oldText", "newText", "replaceAll")


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
    for_all = {"replaceAll": out.pop("replaceAll")} if "replaceAll" in out else {}
    if "oldText" in out and "newText" in out:
        pairs.append({name: out.pop(name) for name in _PAIR if name in out})
    out["edits"] = [{**for_all, **pair} if isinstance(pair, dict) else pair for pair in pairs]
    return out


async def _run(arguments: EditArguments, context: ToolContext) -> ToolResult:
    workspace = workspace_of(context)
    if not arguments.path.strip():
        raise ToolError("The path is empty. Pass the file to edit.")
    path = await asyncio.to_thread(locate, workspace, arguments.path, context)
    shown = display(path, context.cwd)
    edits = tuple(
        Edit(old_text=edit.old_text, new_text=edit.new_text, replaces_all=bool(edit.replace_all))
        for edit in arguments.edits
    )
    real = workspace.files.real_path(path)
    seen = dict(workspace.read_cache.lines(real))
    is_notebook = path.lower().endswith(".ipynb")

    def compute(state: FileState | None) -> NewContent:
        if state is None:
            raise FileNotFoundError(2, "No such file", path)
        edited = apply_to_notebook(state.data, edits, shown) if is_notebook else None
        edited = edited or apply_edits(state.data, edits, shown, seen)
        return NewContent(data=edited.data, added=edited.diff.added, removed=edited.diff.removed, info=edited)

    try:
        changed = await workspace.mutations.change(path, context.call_id, compute)
    except OSError as problem:
        raise file_error(problem, "edit", path, workspace.files) from None
    edited = changed.info
    assert isinstance(edited, Edited)
    if edited.is_as_stored:
        workspace.read_cache.record_whole(real, changed.stat.version, edited.text)
    else:
        workspace.read_cache.forget(real)
    return _result(edited, shown)


def _result(edited: Edited, shown: str) -> ToolResult:
    text = f"Successfully replaced {edited.count} block(s) in {shown}."
    loose = [
        f"edit {number} ignoring {strategy.replace('-', ' ')}"
        for number, strategy in enumerate(edited.strategies, 1)
        if strategy not in ("exact", "line-endings")
    ]
    if loose:
        text += f" Not matched exactly: {', '.join(loose)}."
    details: dict[str, Any] = {
        "diff": visible(edited.diff.display),
        "patch": visible(edited.diff.patch),
        "added": edited.diff.added,
        "removed": edited.diff.removed,
        "strategies": list(edited.strategies),
    }
    if edited.diff.first_changed_line is not None:
        details["firstChangedLine"] = edited.diff.first_changed_line
    return ToolResult(content=(TextPart(text=text),), details=details)


def _show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    path = text_argument(arguments, "path")
    if result is not None and result.is_error:
        return Card(title="edit", subject=path, summary="failed", blocks=(TextBlock(text=result.text),))
    patch = text_detail(result.details, "patch") if result else ""
    added = number_detail(result.details, "added") if result else None
    removed = number_detail(result.details, "removed") if result else None
    if result and not patch and result.details:
        patch = text_detail(result.details, "diff")
    if not patch:
        patch = _preview(path, arguments.get("edits"))
    if added is None:
        added = sum(line.startswith("+") and not line.startswith("+++") for line in patch.split("\n"))
        removed = sum(line.startswith("-") and not line.startswith("---") for line in patch.split("\n"))
    summary = f"+{added} -{removed or 0}" if patch else ""
    block = DiffBlock(path=path, diff=patch, added=added, removed=removed or 0)
    return Card(title="edit", subject=path, summary=summary, blocks=(block,) if patch else ())


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
