"""Masks the results of tool calls, and replaces placeholders in arguments by the secrets of the file being
changed."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from app.agent.tool_pipeline import ParsedToolCall
from app.engine.secrets.session_mask import SessionSecretMask
from app.values.json_texts import replace_texts_in_json, texts_in_json
from tools.file_and_process_operations import FileOperations, LocalFileOperations
from tools.files.paths import absolute_path, display_path
from tools.lazy_patterns import lazy_regex
from tools.masking.assigned_secrets import is_secret_file_name
from tools.masking.secret_marks import SECRET_MARK_PREFIX
from tools.session_workspace import workspace_of_context
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import TextPart, ToolResult

_MAX_UNMASKED_FILE_BYTES: Final = 8 << 20
_MAX_UNMASKED_FILES: Final = 64
_MAX_PRIVATE_KEY_FILES: Final = 20
_PRIVATE_KEY_LINE_PATTERN: Final = lazy_regex(
    r"^(?:([^\n]{1,300}?)[:-]\d+[:-] ?)?[ \t+]{0,8}[A-Za-z0-9+/]{40,}={0,2}$", re.MULTILINE
)
"""Matches a line that may belong to a private key; the first group is the file, where a search names it."""


class ToolCallSecretMasking:
    """Masks secrets in the tool calls of one session."""

    def __init__(self, masking: SessionSecretMask) -> None:
        self._masking = masking
        self._secrets_by_mark: OrderedDict[str, dict[str, str]] = OrderedDict()
        """The secrets behind the placeholders of each file, by its real path, when it was last read."""

    @property
    def is_masking(self) -> bool:
        return self._masking.mask() is not None

    def unmask_arguments(self, reading: ParsedToolCall) -> dict[str, Any] | None:
        """Returns a tool call's arguments with the secrets of the changed file in place of placeholders, or None
        if there are none. Runs before the call, in a thread. Raises `ToolError` for a placeholder of another
        file."""
        if not self.is_masking:
            return None
        texts = tuple(texts_in_json(reading.plain_arguments))
        self._find_secrets(reading.context, texts)
        effects = reading.effects
        # Staged changes are written later, into files that are only read now.
        changed = effects.writes or effects.stages
        if (
            changed
            and not (effects.runs or effects.opaque)
            and any(SECRET_MARK_PREFIX in text for text in texts)
        ):
            return self._unmasked_arguments(reading, changed)
        return None

    def mask_progress(self, result: ToolResult) -> ToolResult:
        """Masks secrets in an intermediate result of a tool."""
        return self._mask_result(result, "") if self.is_masking else result

    def mask_preview(
        self, result: ToolResult, real_paths: Sequence[str], context: ToolContext, where: str = ""
    ) -> ToolResult:
        """Masks secrets in the preview of an arriving tool call; for a thread."""
        if not self.is_masking:
            return result
        texts = (result.text, *texts_in_json(result.details))
        self._find_secrets(context, ())
        if workspace_of_context(context).has_local_files:
            for path in real_paths:
                if is_secret_file_name(path) or any(_PRIVATE_KEY_LINE_PATTERN.search(text) for text in texts):
                    self._masking.known_secrets.search_file(Path(path))
        return self._mask_result(result, where)

    def mask_result(self, reading: ParsedToolCall, result: ToolResult) -> ToolResult:
        """Masks secrets in the result of a tool call before it enters the session. For a thread."""
        if not self.is_masking:
            return result
        context, name, files = reading.context, reading.tool.name, workspace_of_context(reading.context).files
        paths = [path for path in reading.effects.contents if _is_file(files, path)]
        text = result.text
        self._find_secrets(context, (text, *texts_in_json(reading.plain_arguments)))
        only = paths[0] if len(paths) == 1 else None
        if workspace_of_context(context).has_local_files:
            for file in _key_files_quoted_in(text, only, context.cwd):
                self._masking.known_secrets.search_file(Path(file))
            for path in paths:
                if is_secret_file_name(path):
                    self._masking.known_secrets.search_file(Path(path))
        masked = self._mask_result(
            result, f"{name} {display_path(only, context.cwd)}" if only is not None else name
        )
        if masked.text != text:
            for path in paths:
                self._learn_placeholders(path, files)
        return masked

    def _find_secrets(self, context: ToolContext, texts: tuple[str, ...]) -> None:
        self._masking.known_secrets.search_files(
            context.cwd if workspace_of_context(context).has_local_files else None, texts
        )

    def _mask_result(self, result: ToolResult, where: str) -> ToolResult:
        content = tuple(
            msgspec.structs.replace(part, text=self._masking.masked_text(part.text, where))
            if isinstance(part, TextPart)
            else part
            for part in result.content
        )
        return msgspec.structs.replace(
            result,
            content=content,
            details=self._masking.mask_value(result.details, where),
            structured_content=self._masking.mask_value(result.structured_content, where),
        )

    # Restoring secrets in a changed file

    def _unmasked_arguments(self, reading: ParsedToolCall, changed: tuple[str, ...]) -> dict[str, Any] | None:
        shown, files = reading.plain_arguments, workspace_of_context(reading.context).files
        mask = self._masking.mask()
        marks = (
            {found[0] for text in texts_in_json(shown) for found in mask.marker.find_own_marks(text)}
            if mask
            else set[str]()
        )
        if not marks:
            return None
        known: dict[str, str] = {}
        texts: list[str] = []
        paths = sorted({files.real_path(path) for path in changed})
        if len(paths) > 1 or reading.effects.globs:
            raise ToolError(
                f"{', '.join(sorted(marks))} stands for a secret of one file. Change that file in a separate call."
            )
        for path in paths:
            texts.append(self._learn_placeholders(path, files))
            known |= self._secrets_by_mark.get(files.real_path(path), {})
        strange = sorted(one for one in marks if one not in known and not any(one in text for text in texts))
        if strange:
            raise ToolError(
                f"{', '.join(strange)} stands for a secret that does not come from this file, so it cannot be written "
                "into it. Use a variable or another way by which the program gets the secret, or ask the user to put "
                "it there."
            )
        return replace_texts_in_json(shown, lambda text: _unmask_text(text, known))

    def _learn_placeholders(self, path: str, files: FileOperations) -> str:
        """Remembers the secrets behind the placeholders of a file; returns the file's text."""
        if isinstance(files, LocalFileOperations):
            self._masking.known_secrets.search_file(Path(path))
        mask = self._masking.mask()
        real = files.real_path(path)
        try:
            status = files.stat(real)
            if mask is None or status.kind != "file" or status.size > _MAX_UNMASKED_FILE_BYTES:
                return ""
            with files.open(real) as file:
                text = file.read().decode("utf-8", "replace").replace("\r\n", "\n")
        except (OSError, ValueError):
            return ""
        found = dict(mask.mask_text(text).found)
        if found:
            self._secrets_by_mark[real] = {**self._secrets_by_mark.pop(real, {}), **found}
            while len(self._secrets_by_mark) > _MAX_UNMASKED_FILES:
                self._secrets_by_mark.popitem(last=False)
        return text


def _is_file(files: FileOperations, path: str) -> bool:
    try:
        return files.stat(path).kind == "file"
    except (OSError, ValueError):
        return False


def _key_files_quoted_in(text: str, path: str | None, cwd: Path) -> Iterator[str]:
    """Yields the files from which a text quotes lines of a private key."""
    names = dict.fromkeys(found[1] or path for found in _PRIVATE_KEY_LINE_PATTERN.finditer(text))
    for name in [one for one in names if one][:_MAX_PRIVATE_KEY_FILES]:
        yield absolute_path(name, cwd)


def _unmask_text(text: str, known: Mapping[str, str]) -> str:
    for mark, secret in known.items():
        text = text.replace(mark, secret)
    return text
