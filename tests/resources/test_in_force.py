"""Which settings count: layers, changes in any order, files that break and are mended."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import SettingRefused, Settings, find_setting_key, setting_value_at

NAMES: dict[str, st.SearchStrategy[Any]] = {
    "theme": st.sampled_from(["a", "b", "c"]),
    "steeringMode": st.sampled_from(["all", "one-at-a-time"]),
    "retry.maxRetries": st.integers(0, 3),
    "bash.autoBackground.thresholdMs": st.integers(0, 3),
    "defaultProjectTrust": st.sampled_from(["ask", "always", "never"]),
    "skills": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    "enabledModels": st.none() | st.lists(st.sampled_from(["m", "n"]), max_size=2),
}
WRONG = {"theme": 7, "retry.maxRetries": -1, "steeringMode": "some", "skills": "x"}
names = st.sampled_from(sorted(NAMES))
change = names.flatmap(lambda name: st.tuples(st.just(name), NAMES[name]))
values = st.fixed_dictionaries({}, optional=NAMES)


def in_file(values: dict[str, Any]) -> str:
    document: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        here = document
        for group in groups:
            here = here.setdefault(group, {})
        here[last] = value
    return json.dumps(document)


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


class Layers(RuleBasedStateMachine):
    """Everything that can happen to the layers, beside four plain dictionaries that say what should count."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        home = Path(self.folder.name)
        (home / "project" / ".bayou").mkdir(parents=True)
        self.paths = BayouPaths.from_env({"HOME": str(home)}, home / "project")
        self.paths.agent_dir.mkdir(parents=True)
        self.flags: dict[str, Any] = {"theme": "flag"}
        self.effective_settings = EffectiveSettings(self.paths, flags=self.flags)
        self.session: dict[str, Any] = {}
        self.said: dict[str, dict[str, Any]] = {"project": {}, "global": {}}
        """What each file says as far as it can be used."""
        self.is_whole = {"project": True, "global": True}
        self.is_trusted = False
        self.before = self.effective_settings.settings
        self.effective_settings.subscribe(self._told)
        self.number = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    def _told(self, before: Settings) -> None:
        assert before == self.before and before != self.effective_settings.settings
        self.before = self.effective_settings.settings

    def _write(self, origin: str, text: str) -> None:
        """Writes the file with a distinct modification time, like a user's change."""
        file = self.paths.project_settings_file if origin == "project" else self.paths.settings_file
        file.write_text(text)
        self.number += 1
        os.utime(file, ns=(self.number * 10**9, self.number * 10**9))

    @rule(origin=st.sampled_from(["project", "global"]), values=values)
    def change_a_file(self, origin: str, values: dict[str, Any]) -> None:
        self._write(origin, in_file(values))
        self.said[origin] = values
        self.is_whole[origin] = True
        is_read = origin == "global" or self.is_trusted
        assert self.effective_settings.files.has_any_file_changed() is is_read
        problems = self.effective_settings.reload_changed_files()
        assert all(problem.kind == "ignored" for problem in problems) and (is_read or not problems)

    @rule(
        origin=st.sampled_from(["project", "global"]), text=st.sampled_from(["{", '{"a" 1}', '{"theme": }'])
    )
    def break_a_file(self, origin: str, text: str) -> None:
        if origin == "project" and not self.is_trusted:
            return
        self._write(origin, text)
        self.is_whole[origin] = False
        [problem] = self.effective_settings.reload_changed_files()
        assert problem.kind == "broken" and "until it is fixed" in str(problem)

    @rule(values=values, name=st.sampled_from(sorted(WRONG)))
    def write_a_wrong_value(self, values: dict[str, Any], name: str) -> None:
        self._write("global", in_file({**values, name: WRONG[name]}))
        kept = {name: self.said["global"][name]} if name in self.said["global"] else {}
        values.pop(name, None)
        self.said["global"] = {**values, **kept}
        self.is_whole["global"] = True
        [problem] = self.effective_settings.reload_changed_files()
        shown = json.dumps(setting_value_at(self.effective_settings.settings, find_setting_key(name)))
        assert problem.kind == "wrong"
        assert str(problem).replace(" ", "").endswith(f"staysinuse:{shown}.".replace(" ", ""))

    @rule(change=change)
    def set_for_this_session(self, change: tuple[str, Any]) -> None:
        name, value = change
        self.effective_settings.set(name, value)
        self.session[name] = value

    @rule(change=change)
    def keep_one(self, change: tuple[str, Any]) -> None:
        name, value = change
        if not self.is_whole["global"]:
            with pytest.raises(SettingRefused, match="Fix the file first"):
                self.effective_settings.save_value(name, value)
            return
        self.effective_settings.save_value(name, value)
        self.said["global"] = {**self.said["global"], name: value}
        if not find_setting_key(name).is_merged_list:
            assert plain(setting_value_at(self.effective_settings.settings, find_setting_key(name))) == plain(
                value
            ), "what a person chose counts"
        if name in self.session or (name != "skills" and (name in self.flags or name in self._project())):
            self.session[name] = value

    @rule(name=names)
    def reset_one(self, name: str) -> None:
        if not self.is_whole["global"]:
            with pytest.raises(SettingRefused):
                self.effective_settings.reset(name)
            return
        self.effective_settings.reset(name)
        self.session.pop(name, None)
        self.said["global"] = {key: value for key, value in self.said["global"].items() if key != name}

    @rule(is_trusted=st.booleans())
    def answer_about_trust(self, is_trusted: bool) -> None:
        if is_trusted and not self.is_trusted and not self.is_whole["project"]:
            self.said["project"] = {}  # it never was read while it could be used
        self.is_trusted = is_trusted
        self.effective_settings.set_trusted(is_trusted)

    @rule()
    def recheck_trust(self) -> None:
        assert self.effective_settings.reload_changed_files() == ()

    def _project(self) -> dict[str, Any]:
        """A project has no say in some things."""
        if not self.is_trusted:
            return {}
        return {key: value for key, value in self.said["project"].items() if key != "defaultProjectTrust"}

    @invariant()
    def the_first_layer_that_has_it_counts(self) -> None:
        layers = [self.session, self.flags, self._project(), self.said["global"]]
        for name in NAMES:
            said = [layer[name] for layer in layers if name in layer]
            key = find_setting_key(name)
            if key.is_merged_list:
                expected = [one for value in reversed(said) for one in value]
            else:
                expected = said[0] if said else key.default
            assert plain(setting_value_at(self.effective_settings.settings, key)) == plain(expected), name

    @invariant()
    def what_was_read_is_what_is_there(self) -> None:
        assert not self.effective_settings.files.has_any_file_changed()

    @invariant()
    def everybody_was_told(self) -> None:
        assert self.before == self.effective_settings.settings


TestLayers = Layers.TestCase
TestLayers.settings = examples(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_file_that_breaks_keeps_what_it_said_and_tells_so_once(paths: BayouPaths, put):
    put(paths.settings_file, '{"theme": "a", "retry": {"maxRetries": 7}}')
    effective_settings = EffectiveSettings(paths)
    put(paths.settings_file, '{"theme": "b", ')
    [problem] = effective_settings.reload_changed_files()
    assert str(problem).startswith(f"{paths.settings_file}:1: column 16: ")
    assert str(problem).endswith("Its previous settings stay in use until it is fixed.")
    assert (
        effective_settings.settings.display.theme == "a"
        and effective_settings.settings.retry.max_retries == 7
    )
    assert effective_settings.reload_changed_files() == () and effective_settings.problems == (problem,)
    put(paths.settings_file, '{"theme": "b"}')
    assert effective_settings.reload_changed_files() == () and effective_settings.problems == ()
    assert (
        effective_settings.settings.display.theme == "b"
        and effective_settings.settings.retry.max_retries == 3
    )


def test_a_value_that_becomes_wrong_keeps_what_it_was(paths: BayouPaths, put):
    put(paths.settings_file, '{"retry": {"maxRetries": 7, "enabled": false}}')
    effective_settings = EffectiveSettings(paths)
    put(paths.settings_file, '{"retry": {"maxRetries": "many", "enabled": true}}')
    [problem] = effective_settings.reload_changed_files()
    assert "retry.maxRetries: expected `int`, got `str`. The previous value stays in use: 7." in str(problem)
    assert effective_settings.settings.retry.enabled is True
    put(paths.settings_file, '{"retry": 3}')
    [problem] = effective_settings.reload_changed_files()
    assert "retry must be an object" in str(problem) and effective_settings.settings.retry.max_retries == 7


def test_what_comes_from_where_is_known(paths: BayouPaths, put):
    put(paths.settings_file, '{"theme": "a"}')
    put(paths.project_settings_file, '{"theme": "b", "skills": ["s"]}')
    effective_settings = EffectiveSettings(paths, is_trusted=True, flags={"offline": True})
    found = {name: effective_settings.origin(name) for name in ("theme", "skills", "offline", "steeringMode")}
    assert found == {"theme": "project", "skills": "project", "offline": "flags", "steeringMode": None}
    effective_settings.set("theme", "c")
    assert effective_settings.origin("theme") == "session"


def test_without_files_it_holds_for_the_session_alone():
    effective_settings = EffectiveSettings()
    effective_settings.save_value("theme", "x")
    assert (
        effective_settings.settings.display.theme == "x" and effective_settings.reload_changed_files() == ()
    )


@pytest.mark.parametrize(("name", "value"), [("nothing", 1), ("theme", 3), ("retry.maxRetries", -1)])
def test_what_does_not_fit_changes_nothing(paths: BayouPaths, name: str, value: Any):
    effective_settings = EffectiveSettings(paths)
    for act in (effective_settings.set, effective_settings.save_value):
        with pytest.raises(SettingRefused, match=name):
            act(name, value)
    with pytest.raises(SettingRefused, match=name):
        EffectiveSettings(paths, flags={name: value})
    assert effective_settings.settings == Settings() and not paths.settings_file.exists()


RULES = """{"bash": {"interceptor": {"rules": [
  {"pattern": "npm ", "tool": "bash", "message": "Use pnpm."},
  {"pattern": "(", "tool": "bash", "message": "never"}
]}}}"""


def test_a_rule_that_cannot_be_read_is_named_with_its_line_and_the_others_count(paths: BayouPaths, put):
    put(paths.settings_file, "{}")
    effective_settings = EffectiveSettings(paths)
    put(paths.settings_file, RULES)
    [problem] = effective_settings.reload_changed_files()
    assert str(problem) == (
        f"{paths.settings_file}:3: bash.interceptor.rules: the pattern of rule 2 is not a valid regular "
        "expression: missing ) at position 1. It is ignored."
    )
    assert [rule.pattern for rule in effective_settings.settings.bash.interceptor.rules] == ["npm ", "("]
    assert effective_settings.problems == (problem,) and problem.key == "bash.interceptor.rules"
    broken = [{"pattern": "[", "tool": "bash", "message": "never"}]
    for act in (effective_settings.set, effective_settings.save_value):
        with pytest.raises(SettingRefused, match="the pattern of rule 1 is not a valid regular expression"):
            act("bash.interceptor.rules", broken)
    assert paths.settings_file.read_text() == RULES
