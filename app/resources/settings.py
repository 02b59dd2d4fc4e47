"""All settings as one value, and reading them: defaults, then the global file, then the trusted project's.

What is wrong in a file is named with file, line and remedy, and the default stays in force; keys that nobody
knows are kept in the file and reported. The keys themselves are in `settings_agent` and `settings_display`,
changing a file is `settings_file`'s business, the documentation `settings_docs`'s.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from app.resources import settings_agent as agent
from app.resources import settings_display as look
from app.resources.files import FileFault, read_text, stamp
from app.resources.paths import Paths
from app.values.json_comments import JsonFault, parse, places

Flat = {"flat": True}


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Every setting, by feature."""

    model: agent.ModelSettings = agent.ModelSettings()
    interaction: agent.InteractionSettings = agent.InteractionSettings()
    tools: agent.ToolSettings = agent.ToolSettings()
    bash: agent.BashSettings = agent.BashSettings()
    background: agent.BackgroundSettings = agent.BackgroundSettings()
    edit: agent.EditSettings = agent.EditSettings()
    file_maps: agent.FileMapSettings = agent.FileMapSettings()
    sessions: agent.SessionSettings = agent.SessionSettings()
    compaction: agent.CompactionSettings = agent.CompactionSettings()
    branch_summary: agent.BranchSummarySettings = agent.BranchSummarySettings()
    network: agent.NetworkSettings = agent.NetworkSettings()
    retry: agent.RetrySettings = agent.RetrySettings()
    shell: agent.ShellSettings = agent.ShellSettings()
    resources: agent.ResourceSettings = agent.ResourceSettings()
    rules: agent.RuleSettings = agent.RuleSettings()
    extension_limits: agent.ExtensionSettings = agent.ExtensionSettings()
    display: look.DisplaySettings = look.DisplaySettings()
    markdown: look.MarkdownSettings = look.MarkdownSettings()
    images: look.ImageSettings = look.ImageSettings()
    editor: look.EditorSettings = look.EditorSettings()
    footer: look.FooterSettings = look.FooterSettings()
    terminal: look.TerminalSettings = look.TerminalSettings()
    notifications: look.NotificationSettings = look.NotificationSettings()


FLAT_GROUPS = frozenset(
    ("model", "interaction", "tools", "sessions", "network", "shell", "resources", "display", "editor")
)
"""Groups whose keys stand at the top of the file: `defaultModel`, not `model.defaultModel`."""

Kind = Literal["broken", "wrong", "unknown", "ignored"]


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in a settings file that did not count, in words a person can act on."""

    file: Path
    kind: Kind
    key: str = ""
    line: int = 0
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.text}"


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    settings: Settings
    problems: tuple[SettingsProblem, ...] = ()
    files: tuple[Path, ...] = ()
    """The files that counted or would have, in the order they were read."""
    extra: Mapping[str, Any] = {}
    """Top-level keys that bayou does not know, for extensions to read; the project's over the global ones."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf of the settings: where it is in the file and in the value, its type and what it is for."""

    path: tuple[str, ...]
    attributes: tuple[str, ...]
    type: Any
    default: Any
    description: str
    is_global_only: bool = False
    adds_up: bool = False
    runs: bool = False
    """A project's value can make something run, so the trust question lists it."""

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def group(self) -> str:
        """What a person reads above it and its neighbours."""
        words = self.attributes[0].replace("_", " ")
        return words[:1].upper() + words[1:]


def load_settings(paths: Paths, *, is_trusted: bool) -> LoadedSettings:
    """Reads both files; never raises. An untrusted project's file is not opened."""
    files = (paths.settings_file, paths.project_settings_file) if is_trusted else (paths.settings_file,)
    values = _Values()
    for file in files:
        values.read(file, is_project=file == paths.project_settings_file)
    return LoadedSettings(
        settings=values.settings(), problems=tuple(values.problems), files=files, extra=values.extra
    )


def settings_from(data: Mapping[str, Any]) -> Settings:
    """Settings from plain data spelled as in the file, for tests and for programs. Wrong values are left out."""
    values = _Values()
    values.take(dict(data), Path("settings"), {}, is_project=False)
    return values.settings()


@cache
def keys() -> tuple[Key, ...]:
    """Every setting, in the order of the groups."""
    found: list[Key] = []
    for field in msgspec.structs.fields(Settings):
        path = () if field.name in FLAT_GROUPS else (field.encode_name,)
        found += _keys_of(field.type, field.default, path, (field.name,))
    return tuple(found)


def value_at(settings: Settings, key: Key) -> Any:
    """The value that is in force, as in the file."""
    value: Any = settings
    for attribute in key.attributes:
        value = getattr(value, attribute)
    return msgspec.to_builtins(value)


def check_value(key: Key, value: Any) -> str | None:
    """What is wrong with `value` for `key`, in plain words; None when it fits."""
    try:
        msgspec.convert(value, key.type)
    except msgspec.ValidationError as problem:
        return _explain(problem, key)
    return None


def choices(key: Key) -> tuple[Any, ...]:
    """The values to choose from, for keys that have a fixed few; empty otherwise."""
    plain = get_args(key.type)[0]
    if plain is bool:
        return (True, False)
    options = [plain] if get_origin(plain) is Literal else list(get_args(plain))
    found: list[Any] = []
    for option in options:
        if option is bool:
            found += [True, False]
        elif get_origin(option) is Literal:
            found += get_args(option)
        else:
            return ()
    return tuple(found)


def with_setting(settings: Settings, key: Key, value: Any) -> Settings:
    """`settings` with one value changed. Raises `msgspec.ValidationError` when it does not fit."""
    return _replaced(settings, key.attributes, msgspec.convert(value, key.type))


class SettingsWatch:
    """Says when a settings file has changed. Whoever owns the clock calls `changed` now and then: one `stat` a file."""

    def __init__(self, *files: Path) -> None:
        self._files = files
        self._stamps = self._look()

    @classmethod
    def of(cls, paths: Paths, *, is_trusted: bool) -> "SettingsWatch":
        project = (paths.project_settings_file,) if is_trusted else ()
        return cls(paths.settings_file, *project)

    def changed(self) -> bool:
        """True once per change."""
        stamps = self._look()
        is_changed = stamps != self._stamps
        self._stamps = stamps
        return is_changed

    def _look(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(stamp(file) for file in self._files)


def _keys_of(group: Any, default: Any, path: tuple[str, ...], attributes: tuple[str, ...]) -> list[Key]:
    found: list[Key] = []
    for field in msgspec.structs.fields(group):
        here = getattr(default, field.name)
        where, through = (*path, field.encode_name), (*attributes, field.name)
        if isinstance(field.type, type) and issubclass(field.type, agent.Group):
            found += _keys_of(field.type, here, where, through)
            continue
        meta = field.type.__metadata__[0]
        marks = meta.extra or {}
        found.append(
            Key(
                path=where,
                attributes=through,
                type=field.type,
                default=msgspec.to_builtins(here),
                description=meta.description,
                is_global_only=bool(marks.get("global_only")),
                adds_up=bool(marks.get("adds_up")),
                runs=bool(marks.get("runs")),
            )
        )
    return found


class _Values:
    """Collects what the files say, the later over the earlier."""

    def __init__(self) -> None:
        self.problems: list[SettingsProblem] = []
        self.extra: dict[str, Any] = {}
        self._set: dict[tuple[str, ...], Any] = {}
        self._table: dict[tuple[str, ...], Key] = {}
        self._branches: set[tuple[str, ...]] = set()

    def read(self, file: Path, *, is_project: bool) -> None:
        try:
            text = read_text(file)
        except FileFault as problem:
            self._report(file, "broken", text=f"{problem.what}. Its settings are not used.")
            return
        if text is None or not text.strip():
            return
        try:
            data = parse(text)
        except JsonFault as problem:
            words = f"column {problem.column}: {problem.message}. None of its settings are used until it is mended."
            self._report(file, "broken", line=problem.line, text=words)
            return
        if not isinstance(data, dict):
            self._report(file, "broken", line=1, text="must hold one object: { … }. It is not used.")
            return
        self.take(data, file, _Lazily(text), is_project=is_project)

    def take(self, data: dict[str, Any], file: Path, lines: Any, *, is_project: bool) -> None:
        if data and not self._table:
            self._table = {key.path: key for key in keys()}
            self._branches = {
                key.path[:end] for key in self._table.values() for end in range(1, len(key.path))
            }
        self._take_object(data, (), file, lines, is_project)

    def _take_object(
        self, data: dict[str, Any], path: tuple[str, ...], file: Path, lines: Any, is_project: bool
    ) -> None:
        for name, value in data.items():
            where = (*path, name)
            key = self._table.get(where)
            if key is not None:
                self._take_value(key, value, file, lines, is_project)
            elif where in self._branches:
                if isinstance(value, dict):
                    self._take_object(value, where, file, lines, is_project)
                else:
                    self._report(
                        file,
                        "wrong",
                        where,
                        lines,
                        f"{'.'.join(where)} must be an object. The defaults stay in force.",
                    )
            elif name != "$schema":
                if not path:
                    self.extra[name] = value
                self._report(file, "unknown", where, lines, self._unknown(where))

    def _take_value(self, key: Key, value: Any, file: Path, lines: Any, is_project: bool) -> None:
        if is_project and key.is_global_only:
            text = f"{key.name} counts only in the global settings file. It is ignored here."
            self._report(file, "ignored", key.path, lines, text)
            return
        try:
            new = msgspec.convert(value, key.type)
        except msgspec.ValidationError as problem:
            kept = "The value before it stays" if key.path in self._set else "The default stays"
            shown = msgspec.json.encode(self._current(key)).decode()
            text = f"{key.name}: {_explain(problem, key)}. {kept} in force: {shown}."
            self._report(file, "wrong", key.path, lines, text)
            return
        if key.adds_up and key.path in self._set:
            new = (*self._set[key.path], *new)
        self._set[key.path] = new

    def _current(self, key: Key) -> Any:
        return self._set.get(key.path, key.default)

    def _unknown(self, where: tuple[str, ...]) -> str:
        import difflib  # noqa: PLC0415  (only for the hint; costs start-up)

        name = ".".join(where)
        close = difflib.get_close_matches(name, [key.name for key in self._table.values()], n=1, cutoff=0.75)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"there is no setting {name}; it is kept but does nothing.{hint}"

    def _report(
        self,
        file: Path,
        kind: Kind,
        where: tuple[str, ...] = (),
        lines: Any = None,
        text: str = "",
        line: int = 0,
    ) -> None:
        spot = lines.get(where) if lines else None
        self.problems.append(
            SettingsProblem(
                file=file, kind=kind, key=".".join(where), line=spot.line if spot else line, text=text
            )
        )

    def settings(self) -> Settings:
        settings = Settings()
        for path, value in self._set.items():
            settings = _replaced(settings, self._table[path].attributes, value)
        return settings


class _Lazily:
    """Places of a text, worked out when the first is asked for: only a problem needs them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: Mapping[Any, Any] | None = None

    def get(self, path: tuple[str, ...]) -> Any:
        if self._found is None:
            self._found = places(self._text)
        return self._found.get(path)


def _replaced(value: Any, attributes: tuple[str, ...], new: Any) -> Any:
    first, *rest = attributes
    if rest:
        new = _replaced(getattr(value, first), tuple(rest), new)
    return msgspec.structs.replace(value, **{first: new})


def _explain(problem: msgspec.ValidationError, key: Key) -> str:
    """msgspec's words without the path it adds, which is always the key itself, and with what may be chosen."""
    text, _, where = str(problem).partition(" - at `")
    inside = where.rstrip("`").removeprefix("$")
    allowed = ", ".join(f"`{option}`" for option in choices(key) if isinstance(option, str))
    hint = f". Expected one of: {allowed}" if allowed and not inside else ""
    return f"{text[:1].lower()}{text[1:]}" + (f" (at {inside})" if inside else "") + hint
