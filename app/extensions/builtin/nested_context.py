"""The built-in extension `builtin:nested-context`: adds the context file of a folder below the working folder
once a call touches a file there.

Such a file arrives behind the results of the call, once while it is in the context. A project that waits for
the user's trust adds none.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.extensions.public import (
    Context,
    CustomMessage,
    ExtensionApi,
    MarkdownBlock,
    ToolResultPayload,
    View,
    text_of,
)
from app.resources.context_files import CONTEXT_FILE_NAMES, nested_context_files
from app.resources.context_imports import make_project_import_test, read_context_file_imports
from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.values.user_errors import FileError

NESTED_CONTEXT_MESSAGE_TYPE = "nested-context"
MAX_NESTED_CONTEXT_FILE_CHARS = 20_000
"""Limit of the text of one file with its imports."""
_TOOL_PATH_ARGUMENTS = ("path", "paths", "changes", "input")


class _NestedContextSender:
    """The nested context files of one session."""

    def __init__(self, api: ExtensionApi) -> None:
        self._api = api
        self._sent_files: set[str] = set()
        """Files that this run has added, which may not be in the context yet."""
        self._seen_folders: set[str] = set()
        """The folders, as calls of this run named them, whose context files were looked for."""

    def forget_sent_files(self, event: Any, context: Context) -> None:
        self._sent_files.clear()
        self._seen_folders.clear()

    async def handle_tool_result(self, event: ToolResultPayload, context: Context) -> None:
        if event.is_error or not any(name in event.input for name in _TOOL_PATH_ARGUMENTS):
            return
        folder = _folder_in_arguments(event.input)
        if folder is not None and (not folder or folder in self._seen_folders):
            return
        if not context.uses_context_files:
            return
        if not (context.is_project_trusted() or context.has_nothing_to_trust()):
            return
        paths = BayouPaths.from_env(os.environ, context.cwd)
        paths.added_folders.paths = context.added_folders
        found = await asyncio.to_thread(_touched_context_files, event, context, paths)
        if folder is not None:
            self._seen_folders.add(folder)
        if not found:
            return
        known = {
            message.details.get("path")
            for message in context.session.messages()
            if isinstance(message, CustomMessage)
            and message.custom_type == NESTED_CONTEXT_MESSAGE_TYPE
            and isinstance(message.details, dict)
        }
        for file in found:
            name = str(file)
            if name in known or name in self._sent_files:
                continue
            self._sent_files.add(name)
            await self._send_context_file(file, event.tool_call_id, context, paths)

    async def _send_context_file(self, file: Path, call_id: str, context: Context, paths: BayouPaths) -> None:
        try:
            text = await asyncio.to_thread(_text_with_imports, file, paths)
        except FileError as problem:
            context.ui.notify(str(problem), "warning")
            return
        if not text:
            return
        shown = paths.shown(file)
        if len(text) > MAX_NESTED_CONTEXT_FILE_CHARS:
            text = f"{text[:MAX_NESTED_CONTEXT_FILE_CHARS]}\n[The rest of {shown} was cut; read it when you need it.]"
        block = f'<project_instructions path="{shown}">\n{text}\n</project_instructions>'
        body = f"For files in {paths.shown(file.parent)}:\n\n{block}"
        await self._api.send_message(
            NESTED_CONTEXT_MESSAGE_TYPE,
            body,
            details={"path": str(file)},
            deliver_as="aside",
            call_id=call_id,
        )


def _folder_in_arguments(arguments: Mapping[str, Any]) -> str | None:
    """Returns the folder of the one path that a call names, empty for the working folder; None where the
    arguments name files in another way."""
    path = arguments.get("path")
    return path.rpartition("/")[0] if isinstance(path, str) and not path.startswith("~") else None


def _touched_context_files(event: ToolResultPayload, context: Context, paths: BayouPaths) -> list[Path]:
    """Returns the context files for the files that a call touched, the outermost first. A context file that the
    call itself touched is known to the model."""
    effects = context.session.effects_of(event.tool_name, event.input)
    if effects is None:
        return []
    found: dict[Path, None] = {}
    for name in (*effects.reads, *effects.writes, *effects.stages):
        touched = Path(name)
        files = nested_context_files(paths, touched)
        is_own = touched.name in CONTEXT_FILE_NAMES
        found.update(dict.fromkeys(file for file in files if not (is_own and file == touched)))
    return list(found)


def _text_with_imports(file: Path, paths: BayouPaths) -> str:
    text = (read_text(file) or "").strip()
    imported = read_context_file_imports(
        file, text, home=paths.home, may_import=make_project_import_test(paths)
    )
    return "\n\n".join([text, *(f"{paths.shown(one.path)}:\n\n{one.text}" for one in imported.files)])


def extension(api: ExtensionApi) -> None:
    nested = _NestedContextSender(api)
    api.message_renderer(NESTED_CONTEXT_MESSAGE_TYPE, _draw_instructions)
    api.on("tool_result", nested.handle_tool_result)
    api.on("agent_settled", nested.forget_sent_files)


def _draw_instructions(message: CustomMessage, expanded: bool) -> View:
    details = message.details if isinstance(message.details, dict) else {}
    return View(
        title="instructions",
        summary=str(details.get("path", "")),
        body=(MarkdownBlock(text=text_of(message.content)),),
    )
