"""Previews the file changes of a tool call before it runs.

Only files that the model may read without a question are read for a waiting call. When the user asks for the
whole change, every file is shown."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from app.engine.core.toolbox import Toolbox
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.secrets.masked_calls import ToolCallSecretMasking
from tools.call_effects import Effects
from tools.files.path_arguments import resolve_path_argument
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import ToolResult

if TYPE_CHECKING:
    from tools.edits.edit_preview import FileBeforePreviewedCall
    from tools.edits.proposed_files import ProposedFile

MAX_CALL_PREVIEW_BYTES = 2_000_000
"""The maximum size of a file in a preview, in bytes."""


class ToolCallPreviews:
    """Previews the file changes of one session's tool calls before they run."""

    def __init__(self, toolbox: Toolbox, permits: PermissionGate, masks: ToolCallSecretMasking) -> None:
        self._toolbox = toolbox
        self._permissions = permits
        self._masks = masks

    def has_preview(self, name: str) -> bool:
        """Whether calls of this tool have a preview of their file changes."""
        tool = self._toolbox.callable_tools().get(name)
        return tool is not None and tool.preview is not None

    async def preview_call(
        self, name: str, arguments: Mapping[str, Any], *, is_for_person: bool = False
    ) -> ToolResult | None:
        """Returns the diffs of a waiting tool call as details of a result; None if the tool has no preview, or if
        the arguments already show everything."""
        tool = self._toolbox.callable_tools().get(name)
        if tool is None or tool.preview is None:
            return None
        return await asyncio.to_thread(self._preview_diffs, tool, dict(arguments), is_for_person)

    def _preview_diffs(self, tool: Tool, arguments: dict[str, Any], is_for_person: bool) -> ToolResult | None:
        from tools.edits.edit_preview import make_diff_details  # noqa: PLC0415  (what edits mean comes with the first of them)

        assert tool.preview is not None
        try:
            arguments = tool.prepare(arguments) if tool.prepare is not None else arguments
            diffs = tool.preview(
                arguments, self._read_for_person if is_for_person else self.read_file_of_call
            )
        except Exception:  # noqa: BLE001  (what is wrong with the arguments is said when the call runs)
            return None
        if not diffs:
            return None
        made = ToolResult(details=make_diff_details(diffs))
        return (
            made
            if is_for_person
            else self.mask_preview(made, tuple(diff.real_path for diff in diffs if diff.real_path))
        )

    async def proposed_files(self, name: str, arguments: Mapping[str, Any]) -> "tuple[ProposedFile, ...]":
        """Returns the whole files as a tool call would leave them, for the user; none where that is not known."""
        tool = self._toolbox.callable_tools().get(name)
        if tool is None or tool.preview is None:
            return ()
        return await asyncio.to_thread(self._propose_files, tool, dict(arguments))

    def _propose_files(self, tool: Tool, arguments: dict[str, Any]) -> "tuple[ProposedFile, ...]":
        from tools.edits.proposed_files import compute_proposed_files  # noqa: PLC0415  (what edits mean comes with the first of them)

        try:
            arguments = tool.prepare(arguments) if tool.prepare is not None else arguments
            return compute_proposed_files(arguments, self._read_for_person)
        except Exception:  # noqa: BLE001  (what is wrong with the arguments is said when the call runs)
            return ()

    def mask_preview(self, result: ToolResult, real_paths: tuple[str, ...], where: str = "") -> ToolResult:
        """Masks the secrets of a preview. For a thread."""
        return self._masks.mask_preview(result, real_paths, self.tool_context(), where=where)

    def tool_context(self) -> ToolContext:
        return ToolContext(call_id="", cwd=self._workspace.cwd, workspace=self._workspace)

    @property
    def _workspace(self) -> SessionWorkspace:
        return self._toolbox.workspace

    def read_file_of_call(self, raw: str) -> "FileBeforePreviewedCall":
        """Reads a file by the path in a tool call's arguments, if the model may read it without a question. For
        a thread."""
        return self._read_if_allowed(raw, self._may_be_shown)

    def _read_for_person(self, raw: str) -> "FileBeforePreviewedCall":
        """Reads any file for a preview, as if the model had read every line; the call itself checks that later."""
        from tools.edits.shown_lines import LinesShownToModel  # noqa: PLC0415  (as in `_read`)
        from tools.files.shown_file_versions import ShownFileVersionText  # noqa: PLC0415

        seen = self._read_if_allowed(raw, lambda _path, _real: True)
        if seen.text is None:
            return seen
        lines = tuple(seen.text.text.split("\n"))
        whole = ShownFileVersionText(lines=lines, shown=frozenset(range(1, len(lines) + 1)))
        return msgspec.structs.replace(
            seen,
            shown_lines=LinesShownToModel(lines=dict(enumerate(lines, 1))),
            shown_versions=(*seen.shown_versions, whole),
        )

    def _read_if_allowed(
        self, raw: str, may_be_shown: Callable[[str, str], bool]
    ) -> "FileBeforePreviewedCall":
        # The edit module is imported at the first edit.
        from tools.edits.edit_preview import FileBeforePreviewedCall  # noqa: PLC0415
        from tools.edits.edited_text import open_editable_text  # noqa: PLC0415
        from tools.edits.locked_edits import notebook_cache_key  # noqa: PLC0415
        from tools.edits.shown_lines import LinesShownToModel  # noqa: PLC0415
        from tools.files.file_errors import make_file_error  # noqa: PLC0415
        from tools.files.paths import display_path  # noqa: PLC0415

        workspace, hidden, path = self._workspace, FileBeforePreviewedCall(state="hidden", path=raw), raw
        files = workspace.files
        try:
            path = resolve_path_argument(workspace, raw, self.tool_context())
            real = files.real_path(path)
            shown = display_path(path, workspace.cwd)
            if not may_be_shown(path, real):
                return hidden
            status = files.stat(real)
            if status.kind != "file" or status.size > MAX_CALL_PREVIEW_BYTES:
                return hidden
            with files.open(real) as file:
                data = file.read(MAX_CALL_PREVIEW_BYTES + 1)
            is_notebook = path.lower().endswith(".ipynb")
            text = open_editable_text(data, shown, is_notebook=is_notebook)
        except FileNotFoundError as problem:
            return FileBeforePreviewedCall(
                state="missing", path=raw, error=make_file_error(problem, "edit", path, files)
            )
        except (OSError, ToolError, ValueError):
            return hidden
        key = notebook_cache_key(real) if is_notebook else real
        cache = workspace.read_cache
        return FileBeforePreviewedCall(
            state="text",
            path=shown,
            real_path=real,
            text=text,
            shown_lines=LinesShownToModel(
                lines=dict(cache.lines(key)), applied_edits=cache.recent_edits(real)
            ),
            shown_versions=cache.snapshots.shown_versions_of(key),
        )

    def _may_be_shown(self, path: str, real: str) -> bool:
        root = self._workspace.files.real_path(str(self._workspace.cwd)).rstrip("/")
        if not real.startswith(f"{root}/") or self._workspace.hidden_path_test()(real):
            return False
        judge = self._permissions.judge_effects
        return all(
            judge(Effects(reads=(one,)), tool="read").outcome == "run"
            and judge(Effects(writes=(one,)), tool="edit").outcome != "refuse"
            for one in dict.fromkeys((path, real))
        )
