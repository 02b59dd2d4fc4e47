"""Stores on disk, for each project, the sent prompts, the mentioned files and whether the side panel is shown. Disk
errors are ignored, because losing any of them is harmless."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from app.resources.paths import BayouPaths
from app.resources.text_files import write_text
from app.sessions.session_ids import session_folder_name
from app.values.user_errors import FileError
from tools.files.regular_files import read_regular_file
from widgets.completion.frecency import PathFrecency
from widgets.editor.prompt_chips import ImageChip, UnsentPrompt

MAX_STORED_PROMPT_BYTES = 1_000_000
"""The maximum size in bytes of a saved prompt."""


class ProjectPromptHistory:
    """Stores sent prompts, mentioned files and the choice about the side panel of the working folder."""

    def __init__(self, paths: BayouPaths, *, most_prompts: Callable[[], int]) -> None:
        self._paths = paths
        self._max_prompts = most_prompts
        self.frecency = PathFrecency(clock=time.time)

    @property
    def _prompts_file(self) -> Path:
        return self._paths.agent_dir / "history" / f"{session_folder_name(self._paths.cwd)}.jsonl"

    @property
    def _file_scores_file(self) -> Path:
        return self._paths.cache_dir / "files" / f"{session_folder_name(self._paths.cwd)}.json"

    @property
    def _side_panel_file(self) -> Path:
        return self._paths.agent_dir / "side-panels" / f"{session_folder_name(self._paths.cwd)}.json"

    def read_prompts(self) -> list[UnsentPrompt]:
        """Returns the saved prompts, oldest first, without unreadable lines. Shortens a file that has
        doubled in size."""
        try:
            lines = read_regular_file(self._prompts_file).splitlines()
        except OSError:
            return []
        most = self._max_prompts()
        if len(lines) > 2 * most:
            lines = lines[-most:]
            self._write(self._prompts_file, b"\n".join([*lines, b""]).decode("utf-8", "replace"))
        found: list[UnsentPrompt] = []
        for line in lines[-most:] if most else ():
            try:
                found.append(msgspec.json.decode(line, type=UnsentPrompt))
            except (ValueError, RecursionError):
                continue
        return found

    def add_prompt(self, draft: UnsentPrompt) -> None:
        """Appends a prompt as one line, so that sessions in the same folder do not disturb each
        other. Images are left out."""
        if draft.is_empty or not self._max_prompts():
            return
        line = msgspec.json.encode(draft_without_images(draft)) + b"\n"
        if len(line) > MAX_STORED_PROMPT_BYTES:
            return
        try:
            self._prompts_file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._prompts_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line)
            finally:
                os.close(handle)
        except OSError:
            return

    def read_mentioned_file_scores(self) -> dict[str, tuple[float, float]]:
        """Returns the saved scores of mentioned files, for `merge_mentioned_file_scores`."""
        try:
            return msgspec.json.decode(
                read_regular_file(self._file_scores_file), type=dict[str, tuple[float, float]]
            )
        except (OSError, ValueError, RecursionError):
            return {}

    def clear_mentioned_file_scores(self) -> None:
        """Forgets the scores of mentioned files after a change of the working folder."""
        self.frecency.scores_and_times = {}

    def merge_mentioned_file_scores(self, marks: dict[str, tuple[float, float]]) -> None:
        """Adds the saved scores of mentioned files to those of this run, which win."""
        self.frecency.scores_and_times = {**marks, **self.frecency.scores_and_times}

    def record_mentioned_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.frecency.record_chosen_path(path)
        if paths:
            self._write(self._file_scores_file, msgspec.json.encode(self.frecency.scores_and_times).decode())

    def read_side_panel_choice(self) -> bool | None:
        """Returns whether the side panel is shown in this folder; None if that was never chosen."""
        try:
            return msgspec.json.decode(read_regular_file(self._side_panel_file), type=bool)
        except (OSError, ValueError, RecursionError):
            return None

    def save_side_panel_choice(self, is_shown: bool) -> None:
        self._write(self._side_panel_file, msgspec.json.encode(is_shown).decode())

    @staticmethod
    def _write(path: Path, text: str) -> None:
        try:
            write_text(path, text, mode=0o600)
        except FileError:
            return


def draft_without_images(draft: UnsentPrompt) -> UnsentPrompt:
    """Returns a prompt without its images, which are too large to store; pastes stay."""
    images = {ord(char): "" for char, chip in draft.chips.items() if isinstance(chip, ImageChip)}
    return msgspec.structs.replace(
        draft,
        text=draft.text.translate(images) if images else draft.text,
        chips={char: chip for char, chip in draft.chips.items() if ord(char) not in images},
    )
