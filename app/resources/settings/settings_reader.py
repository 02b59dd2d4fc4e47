"""Reads one settings file: its values by key, and its problems with their lines.

Never raises. `effective_settings` decides which value applies and reports it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.hook_files import HOOKS_OFF_SETTING_KEY, HOOKS_SETTING_KEY, STATUS_LINE_SETTING_KEY
from app.resources.settings.setting_value_checks import invalid_setting_parts
from app.resources.settings.settings import (
    SettingKey,
    SettingRefused,
    all_setting_keys,
    convert_setting_value,
)
from app.resources.text_files import read_text
from app.values.json_comments import JsonSyntaxError, json_value_positions, parse_json_with_comments
from app.values.user_errors import FileError

ProblemKind = Literal["broken", "wrong", "partly", "unknown", "ignored"]
"""The kind of a problem. `wrong`: the value is not used; `partly`: a part of it is not used."""


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a settings file, in words that a user can act on."""

    file: Path
    kind: ProblemKind
    key: str = ""
    line: int = 0
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.text}"


class SettingsLayer(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one origin: a file, the command line or a session."""

    values: Mapping[str, Any] = {}
    """The converted values by the names of their settings (`bash.autoBackground.thresholdMs`)."""
    extra: Mapping[str, Any] = {}
    """The unknown top-level keys of the file with their values, which extensions may read."""


def read_settings_layer(
    file: Path, *, is_project: bool = False
) -> tuple[SettingsLayer | None, tuple[SettingsProblem, ...]]:
    """Returns the valid values of a file and its problems. The layer is None if the whole file is unusable."""
    try:
        text = read_text(file)
    except FileError as problem:
        return None, (SettingsProblem(file=file, kind="broken", text=f"{problem.what}."),)
    if text is None or not text.strip():
        return SettingsLayer(), ()
    try:
        data = parse_json_with_comments(text)
    except JsonSyntaxError as problem:
        words = f"column {problem.column}: {problem.message}."
        return None, (SettingsProblem(file=file, kind="broken", line=problem.line, text=words),)
    if not isinstance(data, dict):
        words = "must be an object: { … }."
        return None, (SettingsProblem(file=file, kind="broken", line=1, text=words),)
    reading = _FileReader(file, text, is_project=is_project)
    reading.read_data(data, ())
    return SettingsLayer(values=reading.values, extra=reading.extra), tuple(reading.problems)


_SETTING_KEYS_READ_ELSEWHERE = ("$schema", HOOKS_SETTING_KEY, HOOKS_OFF_SETTING_KEY, STATUS_LINE_SETTING_KEY)
"""Top-level keys of the file that are no settings; `app.resources.hook_files` reads the hooks."""


class _FileReader:
    """Collects the values and problems of one file."""

    def __init__(self, file: Path, text: str, *, is_project: bool) -> None:
        self.values: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.problems: list[SettingsProblem] = []
        self._file = file
        self._text = text
        self._is_project = is_project
        self._places: Mapping[Any, Any] | None = None
        self._keys = {key.path: key for key in all_setting_keys()}
        self._branches = {path[:end] for path in self._keys for end in range(1, len(path))}

    def read_data(self, data: dict[str, Any], path: tuple[str, ...]) -> None:
        for name, value in data.items():
            where = (*path, name)
            key = self._keys.get(where)
            if key is not None:
                self._set_value(key, value)
            elif where in self._branches:
                if isinstance(value, dict):
                    self.read_data(value, where)
                else:
                    self._report_problem(
                        "wrong", where, f"{'.'.join(where)} must be an object. It is ignored."
                    )
            elif path or name not in _SETTING_KEYS_READ_ELSEWHERE:
                if not path:
                    self.extra[name] = value
                self._report_problem("unknown", where, self._unknown_key_text(where))

    def _set_value(self, key: SettingKey, value: Any) -> None:
        if self._is_project and key.is_global_only:
            text = f"{key.name} is only read from the global settings file. It is ignored here."
            self._report_problem("ignored", key.path, text)
            return
        try:
            held = self.values[key.name] = convert_setting_value(key, value)
        except SettingRefused as problem:
            self._report_problem("wrong", key.path, f"{problem}.")
            return
        for flaw in invalid_setting_parts(key, held):
            self._report_problem(
                "partly", (*key.path, flaw.at), f"{key.name}: {flaw.text}. It is ignored.", key.name
            )

    def _unknown_key_text(self, where: tuple[str, ...]) -> str:
        import difflib  # noqa: PLC0415  (only for the hint; costs start-up)

        name = ".".join(where)
        close = difflib.get_close_matches(name, [key.name for key in self._keys.values()], n=1, cutoff=0.75)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"unknown setting {name}; it is kept but has no effect.{hint}"

    def _report_problem(
        self, kind: ProblemKind, where: tuple[str | int, ...], text: str, key: str = ""
    ) -> None:
        """Adds a problem; `key` names the setting if the place is inside its value."""
        if self._places is None:  # only a problem needs them
            self._places = json_value_positions(self._text)
        spot = self._places.get(where)
        line = spot.line if spot else 0
        self.problems.append(
            SettingsProblem(
                file=self._file, kind=kind, key=key or ".".join(map(str, where)), line=line, text=text
            )
        )
