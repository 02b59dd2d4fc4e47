"""The settings in force: one object for a session and its user interface, which read each setting at the
moment of use.

Settings come in layers: set for this session, the command line's flags, the trusted project's file, the
user's file. The first layer with a key decides its value; lists that add up are joined, the user's first."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from app.resources.paths import BayouPaths
from app.resources.settings.setting_value_checks import convert_and_check_setting
from app.resources.settings.settings import (
    SettingKey,
    SettingRefused,
    Settings,
    find_setting_key,
    setting_value_at,
    settings_as_in_file,
    with_setting_value,
)
from app.resources.settings.settings_reader import SettingsLayer, SettingsProblem, read_settings_layer
from tools.files.watched_files import WatchedFiles

SettingOrigin = Literal["session", "flags", "project", "global"]
SETTING_ORIGIN_PRECEDENCE: tuple[SettingOrigin, ...] = ("session", "flags", "project", "global")
SettingsListener = Callable[[Settings], None]
"""A function that is called with the previous settings whenever the settings in force change."""


_Made = TypeVar("_Made")


class EffectiveSettings:
    """The settings in force and their layers. Without `paths` no files are read."""

    def __init__(
        self,
        paths: BayouPaths | None = None,
        *,
        is_trusted: bool = False,
        flags: Mapping[str, Any] | None = None,
    ) -> None:
        """`flags` are values by name for this run. Raises `SettingRefused` for an invalid value."""
        self.settings = Settings()
        self.project_counts: Callable[[], bool] = lambda: True
        """A function that says, before the project's file is read again, whether it is unchanged since the user
        trusted it."""
        self._paths = paths
        self._is_trusted = is_trusted
        given = {
            name: convert_and_check_setting(find_setting_key(name), value)
            for name, value in (flags or {}).items()
        }
        self._layers: dict[SettingOrigin, SettingsLayer] = dict.fromkeys(
            SETTING_ORIGIN_PRECEDENCE, SettingsLayer()
        )
        self._layers["flags"] = SettingsLayer(values=given)
        self._flaws: dict[SettingOrigin, tuple[SettingsProblem, ...]] = {}
        """The problems of each settings file when it was last read."""
        self.files = WatchedFiles()
        """The files that were read, watched for changes."""
        self._project_file: Path | None = None
        self._followers: list[SettingsListener] = []
        self._as_in_file: dict[str, Any] | None = None
        self._read_files(self._file_origins())

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """Returns the problems of the settings files as of the last read."""
        return (*self._flaws.get("global", ()), *self._flaws.get("project", ()))

    def settings_as_in_file(self) -> Mapping[str, Any]:
        """Returns all settings by their names in the file, unknown keys included. The result is cached until
        a change."""
        if self._as_in_file is None:
            self._as_in_file = settings_as_in_file(self.settings)
        return {**self._layers["global"].extra, **self._layers["project"].extra, **self._as_in_file}

    def origin(self, name: str) -> SettingOrigin | None:
        """Returns the first layer that has the setting, or None if the default is in force."""
        return next(
            (origin for origin in SETTING_ORIGIN_PRECEDENCE if name in self._layers[origin].values), None
        )

    def is_any_set_by_project(self, *names: str) -> bool:
        """Says whether the project's file decides any of these settings."""
        return any(self.origin(name) == "project" for name in names)

    def layer_values(self, name: str) -> Mapping[SettingOrigin, Any]:
        """Returns the value of each layer that has the setting, for callers to which the origin matters."""
        return {
            origin: self._layers[origin].values[name]
            for origin in SETTING_ORIGIN_PRECEDENCE
            if name in self._layers[origin].values
        }

    def is_group_valid(self, origin: SettingOrigin, group: str) -> bool:
        """Says whether the file of that origin could be read and has no problem in that group of settings."""
        return not any(
            problem.kind == "broken" or problem.key.split(".")[0] == group
            for problem in self._flaws.get(origin, ())
        )

    def subscribe(self, follower: SettingsListener) -> None:
        """Adds a listener that is called when settings change, for objects that cannot read a setting at each use,
        such as a widget."""
        self._followers.append(follower)

    def collect_subscriptions(self, make: Callable[[], _Made]) -> tuple[_Made, Callable[[], None]]:
        """Calls `make` and returns its result, with a function that removes the listeners that `make` added."""
        before = len(self._followers)
        made = make()
        added = self._followers[before:]

        def unsubscribe() -> None:
            self._followers = [one for one in self._followers if not any(one is each for each in added)]

        return made, unsubscribe

    # Changes

    def set(self, name: str, value: Any) -> None:
        """Sets a value for this session, above all files. Raises `SettingRefused`."""
        mine = {
            **self._layers["session"].values,
            name: convert_and_check_setting(find_setting_key(name), value),
        }
        self._layers["session"] = SettingsLayer(values=mine)
        self._merge_layers()

    def save_value(self, name: str, value: Any) -> None:
        """Writes a value to the user's file, and sets it for this session too if another layer would override it.
        Raises `SettingRefused`."""
        self._write_value(name, value)
        if not self._file_paths or name in self._layers["session"].values or self._overrides_user_file(name):
            self.set(name, value)

    def reset(self, name: str) -> None:
        """Removes the setting from the user's file and from this session. Raises `SettingRefused`."""
        mine = {key: value for key, value in self._layers["session"].values.items() if key != name}
        self._write_value(name, None, is_reset=True)
        self._layers["session"] = SettingsLayer(values=mine)
        self._merge_layers()

    def set_trusted(self, is_trusted: bool) -> tuple[SettingsProblem, ...]:
        """Sets whether the project's file is used, as it is now. Returns the file's problems."""
        if not (is_trusted or self._is_trusted):
            return ()
        self._is_trusted = is_trusted
        if not is_trusted:
            self._layers["project"] = SettingsLayer()
            if self._project_file is not None:
                self.files.forget(self._project_file)
            self._flaws.pop("project", None)
            self._merge_layers()
            return ()
        return self._read_files(("project",))

    def reload_changed_files(self) -> tuple[SettingsProblem, ...]:
        """Reads the files that have changed. Returns their problems; their valid values are used."""
        if not self.files.has_any_file_changed():
            return ()
        places = self._file_paths
        changed: list[SettingOrigin] = [
            one for one in self._file_origins() if self.files.has_changed(places[one])
        ]
        if "project" in changed and not self.project_counts():
            changed.remove("project")  # the values read while the file was trusted stay
            self.files.record_file_state(places["project"])
        return self._read_files(tuple(changed)) if changed else ()

    def settings_without_project(self) -> Settings:
        """Returns the settings without the project's file."""
        return self._merge_origins(("session", "flags", "global"))

    # Reading

    @property
    def _file_paths(self) -> dict[SettingOrigin, Path]:
        """The settings files by origin. A property, because the project can change."""
        paths = self._paths
        return {"project": paths.project_settings_file, "global": paths.settings_file} if paths else {}

    def _file_origins(self) -> tuple[SettingOrigin, ...]:
        if self._paths is None:
            return ()
        return ("project", "global") if self._is_trusted else ("global",)

    def _read_files(self, origins: tuple[SettingOrigin, ...]) -> tuple[SettingsProblem, ...]:
        found: list[tuple[SettingOrigin, SettingsProblem]] = []
        places = self._file_paths
        for origin in reversed(origins):
            file = places[origin]
            self.files.record_file_state(file)
            if origin == "project":
                self._project_file = file
            layer, problems = read_settings_layer(file, is_project=origin == "project")
            found.extend((origin, problem) for problem in problems)
            if layer is not None:  # else the values read before stay
                self._layers[origin] = _with_former_values(self._layers[origin], layer, problems)
        self._merge_layers()
        told = [(origin, self._with_consequence(origin, problem)) for origin, problem in found]
        for origin in origins:
            self._flaws[origin] = tuple(problem for whose, problem in told if whose == origin)
        return tuple(problem for _, problem in told)

    def _with_consequence(self, origin: SettingOrigin, problem: SettingsProblem) -> SettingsProblem:
        """Adds to a problem which values stay in force, which the file alone does not show."""
        if problem.kind == "broken":
            stays = (
                "Its previous settings stay in use"
                if self._layers[origin].values
                else "None of its settings are used"
            )
            text = f"{problem.text} {stays} until it is fixed."
        elif problem.kind == "wrong" and (key := _find_key(problem.key)) is not None:
            which = "default" if self.origin(key.name) is None else "previous value"
            shown = msgspec.json.encode(setting_value_at(self.settings, key)).decode()
            text = f"{problem.text} The {which} stays in use: {shown}."
        else:
            return problem
        return msgspec.structs.replace(problem, text=text)

    def _merge_layers(self) -> None:
        """Merges the layers, and calls the listeners if the settings have changed."""
        before = self.settings
        settings = self.settings = self._merge_origins(SETTING_ORIGIN_PRECEDENCE)
        if settings != before:
            self._as_in_file = None
            for follower in self._followers:
                follower(before)

    def _merge_origins(self, origins: Sequence[SettingOrigin]) -> Settings:
        settings = Settings()
        layers = [self._layers[origin] for origin in origins]
        for name in {name: None for layer in reversed(layers) for name in layer.values}:
            key = find_setting_key(name)
            said = [layer.values[name] for layer in layers if name in layer.values]
            value = tuple(one for part in reversed(said) for one in part) if key.is_merged_list else said[0]
            settings = with_setting_value(settings, key, value)
        return settings

    # Writing

    def _overrides_user_file(self, name: str) -> bool:
        """Says whether flags or the project's file override the user's file for this setting. Lists that add
        up are never overridden."""
        return self.origin(name) in ("flags", "project") and not find_setting_key(name).is_merged_list

    def _write_value(self, name: str, value: Any, *, is_reset: bool = False) -> None:
        if not self._file_paths:
            return
        # Imported late: few sessions change a settings file.
        from app.resources.settings.settings_file import remove_setting_from_file, write_setting_to_file  # noqa: PLC0415

        if is_reset:
            remove_setting_from_file(self._file_paths["global"], name)
        else:
            write_setting_to_file(self._file_paths["global"], name, value)
        self._read_files(("global",))


def _with_former_values(
    before: SettingsLayer, now: SettingsLayer, problems: tuple[SettingsProblem, ...]
) -> SettingsLayer:
    """Replaces invalid values by the values that were read in their place before."""
    wrong = tuple(problem.key for problem in problems if problem.kind == "wrong")
    kept = {
        name: value
        for name, value in before.values.items()
        if any(name == key or name.startswith(f"{key}.") for key in wrong)
    }
    return msgspec.structs.replace(now, values={**kept, **now.values})


def _find_key(name: str) -> SettingKey | None:
    """Returns the key, or None for the name of a group."""
    try:
        return find_setting_key(name)
    except SettingRefused:
        return None
