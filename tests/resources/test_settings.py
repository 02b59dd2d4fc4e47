"""Settings: what counts, what is reported, and how one key is changed."""

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.setting_value_checks import setting_value_problem
from app.resources.settings.settings import (
    SettingRefused,
    Settings,
    all_setting_keys,
    find_setting_key,
    setting_value_at,
    settings_as_in_file,
)
from app.resources.settings.settings_docs import (
    SETTINGS_PAGE_FILE,
    SETTINGS_SCHEMA_FILE,
    settings_page_text,
    settings_schema_text,
)
from app.resources.settings.settings_file import remove_setting_from_file, write_setting_to_file
from app.resources.text_files import read_text
from app.values.json_comments import parse_json_with_comments

HOME = Path(__file__).resolve().parent.parent.parent


def test_without_files_the_defaults_are_in_force(paths: BayouPaths):
    loaded = EffectiveSettings(paths, is_trusted=True)
    assert loaded.settings == Settings()
    assert loaded.problems == ()


def test_the_trusted_projects_values_count_over_the_global_ones(paths: BayouPaths, put):
    put(paths.settings_file, '{"theme": "a", "bash": {"autoBackground": {"thresholdMs": 5}}}')
    put(paths.project_settings_file, '{"theme": "b"} // the project likes b')
    settings = EffectiveSettings(paths, is_trusted=True).settings
    assert settings.display.theme == "b"
    assert settings.bash.auto_background.threshold_ms == 5
    assert EffectiveSettings(paths, is_trusted=False).settings.display.theme == "a"


def test_lists_of_resources_add_up(paths: BayouPaths, put):
    put(paths.settings_file, '{"extensions": ["one.py"], "enabledModels": ["a"]}')
    put(paths.project_settings_file, '{"extensions": ["two.py"], "enabledModels": ["b"]}')
    settings = EffectiveSettings(paths, is_trusted=True).settings
    assert settings.resources.extensions == ("one.py", "two.py")
    assert settings.model.enabled_models == ("b",)


def test_some_keys_are_not_a_projects_business(paths: BayouPaths, put):
    put(paths.project_settings_file, '{\n"defaultProjectTrust": "always"}')
    loaded = EffectiveSettings(paths, is_trusted=True)
    assert loaded.settings.interaction.default_project_trust == "ask"
    assert loaded.problems[0].kind == "ignored"
    assert loaded.problems[0].line == 2


def test_a_wrong_value_is_named_with_its_line_and_the_default_stays(paths: BayouPaths, put):
    put(
        paths.settings_file,
        '{\n  "theme": 7,\n  "retry": {"maxRetries": -1,\n "enabled": false},\n  "interruptMode": "now"\n}',
    )
    loaded = EffectiveSettings(paths, is_trusted=False)
    assert loaded.settings.display.theme == "system"
    assert loaded.settings.retry.enabled is False
    assert [str(problem).removeprefix(str(paths.settings_file)) for problem in loaded.problems] == [
        ':2: theme: expected `str`, got `int`. The default stays in use: "system".',
        ":3: retry.maxRetries: expected `int` >= 0. The default stays in use: 3.",
        ":5: interruptMode: invalid enum value 'now'. Expected one of: `wait`, `immediate`. "
        'The default stays in use: "wait".',
    ]


def test_an_unknown_key_is_reported_with_a_hint_and_offered_to_extensions(paths: BayouPaths, put):
    put(paths.settings_file, '{"$schema": "x", "themme": "x", "myExtension": {"a": 1}, "bash": {"nope": 1}}')
    loaded = EffectiveSettings(paths, is_trusted=False)
    assert [problem.key for problem in loaded.problems] == ["themme", "myExtension", "bash.nope"]
    assert "Did you mean theme?" in loaded.problems[0].text
    assert loaded.settings_as_in_file()["myExtension"] == {"a": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"theme": }', "column 11: a value is missing here"),
        ("[1]", "must be an object"),
        ('{"retry": 3}', "retry must be an object"),
    ],
)
def test_a_broken_file_is_named_and_bayou_still_starts(paths: BayouPaths, put, text: str, words: str):
    put(paths.settings_file, text)
    loaded = EffectiveSettings(paths, is_trusted=False)
    assert loaded.settings == Settings()
    assert words in str(loaded.problems[0])


def test_files_that_are_no_text_are_named(paths: BayouPaths):
    paths.settings_file.mkdir(parents=True)
    assert "is a folder" in str(EffectiveSettings(paths, is_trusted=False).problems[0])
    paths.settings_file.rmdir()
    paths.settings_file.write_bytes(b'{"theme": "\xff"}')
    assert "not UTF-8" in str(EffectiveSettings(paths, is_trusted=False).problems[0])


def test_a_pipe_in_place_of_a_file_does_not_hang(paths: BayouPaths):
    paths.agent_dir.mkdir(parents=True)
    os.mkfifo(paths.settings_file)
    assert "not a regular file" in str(EffectiveSettings(paths, is_trusted=False).problems[0])


def test_changing_a_key_keeps_the_rest_of_the_file(paths: BayouPaths, put):
    text = '{\n  // mine\n  "theme": "a", // good\n  "unknown": 1,\n}\n'
    put(paths.settings_file, text)
    write_setting_to_file(paths.settings_file, "theme", "b")
    assert paths.settings_file.read_text() == text.replace('"a"', '"b"')
    write_setting_to_file(paths.settings_file, "bash.autoBackground.thresholdMs", 9)
    assert parse_json_with_comments(paths.settings_file.read_text()) == {
        "theme": "b",
        "unknown": 1,
        "bash": {"autoBackground": {"thresholdMs": 9}},
    }
    remove_setting_from_file(paths.settings_file, "theme")
    assert "mine" in paths.settings_file.read_text()
    assert EffectiveSettings(paths, is_trusted=False).settings.display.theme == "system"


def test_a_change_that_does_not_fit_leaves_the_file_alone(paths: BayouPaths, put):
    put(paths.settings_file, '{"theme": ')
    for name, value in (("theme", 3), ("theme", "x"), ("nothing", 1)):
        with pytest.raises(SettingRefused):
            write_setting_to_file(paths.settings_file, name, value)
    assert paths.settings_file.read_text() == '{"theme": '


def test_a_linked_settings_file_stays_a_link_and_keeps_its_mode(paths: BayouPaths, put):
    real = put(paths.home / "dotfiles" / "settings.json", "{}")
    real.chmod(0o600)
    paths.agent_dir.mkdir(parents=True)
    paths.settings_file.symlink_to(real)
    write_setting_to_file(paths.settings_file, "theme", "b")
    assert paths.settings_file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert parse_json_with_comments(real.read_text()) == {"theme": "b"}


def _set_one(file: str, name: str) -> None:
    write_setting_to_file(Path(file), name, 77)


def test_two_processes_that_change_two_keys_are_both_heard(paths: BayouPaths):
    names = ["retry.baseDelayMs", "historySize", "notifications.minSeconds", "bash.defaultTimeoutSeconds"]
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pool.starmap(_set_one, [(str(paths.settings_file), name) for name in names])
    settings = EffectiveSettings(paths, is_trusted=False).settings
    assert [setting_value_at(settings, find_setting_key(name)) for name in names] == [77] * 4


def test_every_key_has_a_description_and_a_default_that_fits():
    for key in all_setting_keys():
        assert key.description.endswith("."), key.name
        assert setting_value_problem(key, key.default) is None, key.name


def test_every_setting_has_a_label_that_no_other_has():
    labels = [key.label for key in all_setting_keys()]
    assert all(labels) and len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 32


def test_all_settings_are_spelled_as_in_the_file(paths: BayouPaths, put):
    spelled = settings_as_in_file(Settings())
    assert spelled["fileMaps"]["timeLimitMs"] == 2_000 and spelled["thinkingBudgets"]["low"] == 2_048
    for key in all_setting_keys():
        value = spelled
        for part in key.path:
            value = value[part]
        assert value == key.default, key.name
    put(paths.settings_file, json.dumps(spelled))
    read = EffectiveSettings(paths)
    assert read.problems == () and read.settings == Settings()


def test_the_reference_page_and_the_schema_are_up_to_date():
    remedy = "run: python -m app.resources.settings.settings_docs"
    assert read_text(HOME / SETTINGS_PAGE_FILE) == settings_page_text(), remedy
    assert read_text(HOME / SETTINGS_SCHEMA_FILE) == settings_schema_text(), remedy


def test_the_schema_knows_every_key():
    properties = json.loads(settings_schema_text())["properties"]
    for key in all_setting_keys():
        here = properties
        for part in key.path[:-1]:
            here = here[part]["properties"]
        assert here[key.path[-1]]["default"] == json.loads(json.dumps(key.default))
