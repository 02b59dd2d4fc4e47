"""Which settings count now. One object for a session and its face; whoever goes by a setting asks it at that moment.

They lie in layers: what was set for this session, the command line's flags, the trusted project's file, the person's
own. The first that has a key says its value; lists that add up are joined, the person's first.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.paths import Paths
from app.resources.settings.settings import (
    SettingKey,
    SettingRefused,
    Settings,
    as_in_file,
    find_key,
    value_at,
    with_value,
)
from app.resources.settings.settings_flaws import sound
from app.resources.settings.settings_reading import Layer, SettingsProblem, read_layer
from tools.files.watched import WatchedFiles

Origin = Literal["session", "flags", "project", "global"]
ORDER: tuple[Origin, ...] = ("session", "flags", "project", "global")
Follower = Callable[[Settings], None]
"""Told with the settings before, whenever others are in force."""


class InForce:
    """Settings and where they come from. Without `paths` there are no files."""

    def __init__(
        self, paths: Paths | None = None, *, is_trusted: bool = False, flags: Mapping[str, Any] | None = None
    ) -> None:
        """`flags`: values by name, for this run. Raises `SettingRefused` for one that does not fit."""
        self.settings = Settings()
        self.project_counts: Callable[[], bool] = lambda: True
        """Asked before the project's file is read anew: whether it is still what the person said yes to."""
        self._paths = paths
        self._is_trusted = is_trusted
        given = {name: sound(find_key(name), value) for name, value in (flags or {}).items()}
        self._layers: dict[Origin, Layer] = dict.fromkeys(ORDER, Layer())
        self._layers["flags"] = Layer(values=given)
        self._flaws: dict[Origin, tuple[SettingsProblem, ...]] = {}
        """What is wrong with each file as it was read last."""
        self.files = WatchedFiles()
        """Those that were read, and count."""
        self._project_file: Path | None = None
        self._followers: list[Follower] = []
        self._spelled: dict[str, Any] | None = None
        self._read(self._files())

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """What is wrong with the files as they were read last."""
        return (*self._flaws.get("global", ()), *self._flaws.get("project", ()))

    def as_in_file(self) -> Mapping[str, Any]:
        """All of them spelled as in the file, with those that bayou does not know. Made once a change."""
        if self._spelled is None:
            self._spelled = as_in_file(self.settings)
        return {**self._layers["global"].extra, **self._layers["project"].extra, **self._spelled}

    def origin(self, name: str) -> Origin | None:
        """The first layer that has it; None: the default counts."""
        return next((origin for origin in ORDER if name in self._layers[origin].values), None)

    def are_of_project(self, *names: str) -> bool:
        """Whether what counts of any of them is the project's word."""
        return any(self.origin(name) == "project" for name in names)

    def said(self, name: str) -> Mapping[Origin, Any]:
        """What each layer says of it, for those to whom it matters who said it."""
        return {
            origin: self._layers[origin].values[name]
            for origin in ORDER
            if name in self._layers[origin].values
        }

    def is_sound(self, origin: Origin, group: str) -> bool:
        """Whether the file of that origin was read without anything wrong in it, or in that group of it."""
        return not any(
            problem.kind == "broken" or problem.key.split(".")[0] == group
            for problem in self._flaws.get(origin, ())
        )

    def subscribe(self, follower: Follower) -> None:
        """For what cannot ask by itself, such as a widget."""
        self._followers.append(follower)

    # Changes

    def set(self, name: str, value: Any) -> None:
        """Counts for this session, whatever the files say. Raises `SettingRefused`."""
        mine = {**self._layers["session"].values, name: sound(find_key(name), value)}
        self._layers["session"] = Layer(values=mine)
        self._settle()

    def keep(self, name: str, value: Any) -> None:
        """Writes the person's file, and sees to it that the value counts here, too. Raises `SettingRefused`."""
        self._write(name, value)
        if not self._places or name in self._layers["session"].values or self._hides_file(name):
            self.set(name, value)

    def reset(self, name: str) -> None:
        """Takes it out of the person's file and of this session. Raises `SettingRefused`."""
        mine = {key: value for key, value in self._layers["session"].values.items() if key != name}
        self._write(name, None, is_reset=True)
        self._layers["session"] = Layer(values=mine)
        self._settle()

    def trust(self, is_trusted: bool) -> tuple[SettingsProblem, ...]:
        """Whether the project's file counts, as it is now. Returns what is wrong with it."""
        if not (is_trusted or self._is_trusted):
            return ()
        self._is_trusted = is_trusted
        if not is_trusted:
            self._layers["project"] = Layer()
            if self._project_file is not None:
                self.files.forget(self._project_file)
            self._flaws.pop("project", None)
            self._settle()
            return ()
        return self._read(("project",))

    def follow(self) -> tuple[SettingsProblem, ...]:
        """Reads the files that have changed. Returns what is wrong with them; their sound values count."""
        if not self.files.any_changed():
            return ()
        places = self._places
        changed: list[Origin] = [one for one in self._files() if self.files.has_changed(places[one])]
        if "project" in changed and not self.project_counts():
            changed.remove("project")  # what was read when it counted stays
            self.files.note(places["project"])
        return self._read(tuple(changed)) if changed else ()

    def without_project(self) -> Settings:
        """What would count if the project had said nothing."""
        return self._settled(("session", "flags", "global"))

    # Reading

    @property
    def _places(self) -> dict[Origin, Path]:
        """Asked each time: the project may have become another."""
        paths = self._paths
        return {"project": paths.project_settings_file, "global": paths.settings_file} if paths else {}

    def _files(self) -> tuple[Origin, ...]:
        if self._paths is None:
            return ()
        return ("project", "global") if self._is_trusted else ("global",)

    def _read(self, origins: tuple[Origin, ...]) -> tuple[SettingsProblem, ...]:
        found: list[tuple[Origin, SettingsProblem]] = []
        places = self._places
        for origin in reversed(origins):
            file = places[origin]
            self.files.note(file)
            if origin == "project":
                self._project_file = file
            layer, problems = read_layer(file, is_project=origin == "project")
            found.extend((origin, problem) for problem in problems)
            if layer is not None:  # else what was read before stays
                self._layers[origin] = _carried_over(self._layers[origin], layer, problems)
        self._settle()
        told = [(origin, self._with_consequence(origin, problem)) for origin, problem in found]
        for origin in origins:
            self._flaws[origin] = tuple(problem for whose, problem in told if whose == origin)
        return tuple(problem for _, problem in told)

    def _with_consequence(self, origin: Origin, problem: SettingsProblem) -> SettingsProblem:
        """What comes of it, which the file alone cannot say."""
        if problem.kind == "broken":
            stays = (
                "Its former settings stay in force"
                if self._layers[origin].values
                else "None of its settings are used"
            )
            text = f"{problem.text} {stays} until it is mended."
        elif problem.kind == "wrong" and (key := _key(problem.key)) is not None:
            which = "default" if self.origin(key.name) is None else "value before it"
            shown = msgspec.json.encode(value_at(self.settings, key)).decode()
            text = f"{problem.text} The {which} stays in force: {shown}."
        else:
            return problem
        return msgspec.structs.replace(problem, text=text)

    def _settle(self) -> None:
        """Works out what counts, and tells it if it is something else."""
        before = self.settings
        settings = self.settings = self._settled(ORDER)
        if settings != before:
            self._spelled = None
            for follower in self._followers:
                follower(before)

    def _settled(self, origins: Sequence[Origin]) -> Settings:
        settings = Settings()
        layers = [self._layers[origin] for origin in origins]
        for name in {name: None for layer in reversed(layers) for name in layer.values}:
            key = find_key(name)
            said = [layer.values[name] for layer in layers if name in layer.values]
            value = tuple(one for part in reversed(said) for one in part) if key.adds_up else said[0]
            settings = with_value(settings, key, value)
        return settings

    # Writing

    def _hides_file(self, name: str) -> bool:
        """Something above the person's own file has it, and it is not a list that it would be joined to."""
        return self.origin(name) in ("flags", "project") and not find_key(name).adds_up

    def _write(self, name: str, value: Any, *, is_reset: bool = False) -> None:
        if not self._places:
            return
        # Changing a text needs a lock and more; few sessions ever do.
        from app.resources.settings.settings_file import set_value, unset  # noqa: PLC0415

        if is_reset:
            unset(self._places["global"], name)
        else:
            set_value(self._places["global"], name, value)
        self._read(("global",))


def _carried_over(before: Layer, now: Layer, problems: tuple[SettingsProblem, ...]) -> Layer:
    """In the place of a value that is wrong now, the one that was read there before."""
    wrong = tuple(problem.key for problem in problems if problem.kind == "wrong")
    kept = {
        name: value
        for name, value in before.values.items()
        if any(name == key or name.startswith(f"{key}.") for key in wrong)
    }
    return msgspec.structs.replace(now, values={**kept, **now.values})


def _key(name: str) -> SettingKey | None:
    """None for the name of a group."""
    try:
        return find_key(name)
    except SettingRefused:
        return None
