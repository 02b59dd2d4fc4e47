"""The two tables of protected files: every row is asked about by the gate and held by the sandbox's policy."""

from functools import reduce
from operator import add
from pathlib import Path

import pytest

from app.permits.secret_files import delayed_run_reason, secret_likelihood
from app.providers.scripted import ScriptedAnswer, call, say
from tests.permits.test_gate import decisions, gated_session, results
from tools.protected.keys import KEY_NAMES, KEY_PLACES, SHOWN_OWN_FILES, KeyName, KeyPlace
from tools.protected.later import HOME_AUTORUN_FILES, PROJECT_AUTORUN_FILES, AutorunFile


def below(row: AutorunFile | KeyPlace) -> str:
    """A path that the row is about."""
    path = row.path.replace("*", "some")
    return f"{path}inside" if row.is_folder else path


def named(row: KeyName) -> str:
    return row.name.replace("*", "some")


def in_answers(*calls: tuple[str, dict[str, str]]) -> tuple[ScriptedAnswer, ...]:
    """Of at most fifty calls each."""
    made = [call(name, **arguments) for name, arguments in calls]
    return tuple(reduce(add, made[start : start + 50]) for start in range(0, len(made), 50))


async def test_no_file_that_runs_later_is_written_unasked_in_auto_edit(tmp_path: Path) -> None:
    paths = [path for row in PROJECT_AUTORUN_FILES for path in (below(row), f"packages/one/{below(row)}")]
    calls = in_answers(*(("write", {"path": path, "content": "x"}) for path in paths))
    harness = gated_session(tmp_path, *calls, say("ok"), asks="nobody", mode="auto-edit")
    await harness.prompt("go")
    assert [path for path in paths if (harness.session.cwd / path).exists()] == []
    assert len(results(harness)) == len(paths)


async def test_no_place_of_keys_is_read_unasked_in_full(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    paths = [str(home / below(place)) for place in KEY_PLACES]
    paths += [str(project / "sub" / named(one)) for one in KEY_NAMES]
    harness = gated_session(
        tmp_path, *in_answers(*(("read", {"path": path}) for path in paths)), say("ok"), asks="nobody"
    )
    harness.session.permissions.rules.set_mode("full")
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("the content")
    await harness.prompt("go")
    assert [one for one in results(harness) if "the content" in one] == []
    assert len(decisions(harness)) == len(paths)


def test_every_place_of_keys_is_secret_in_any_spelling_of_case() -> None:
    for place in KEY_PLACES:
        assert secret_likelihood(f"/home/me/{below(place)}", "/home/me") == "likely", place
        assert secret_likelihood(f"/home/me/{below(place).upper()}", "/home/me") == "likely", place


def test_every_start_up_file_of_the_home_runs_later() -> None:
    for row in HOME_AUTORUN_FILES:
        assert delayed_run_reason(f"/home/me/{below(row)}", "/home/me") is not None, row


def test_every_row_has_a_source_and_stands_once() -> None:
    rows = [*PROJECT_AUTORUN_FILES, *KEY_PLACES]
    assert all(row.source for row in (*rows, *HOME_AUTORUN_FILES, *KEY_NAMES))
    for table in (PROJECT_AUTORUN_FILES, HOME_AUTORUN_FILES, KEY_PLACES):
        assert len({row.name for row in table}) == len(table)


@pytest.mark.parametrize(
    "path",
    [
        "package.json",
        "Makefile",
        ".github/workflows/ci.yml",
        ".claude/skills/deploy/SKILL.md",
        "weights/model.pth",
        "mise/readme.md",
        ".config/app.toml",
        "docs/.codex/notes.md",
        "lefthook.yml.md",
    ],
)
def test_ordinary_files_of_a_project_do_not_run_later(path: str) -> None:
    assert delayed_run_reason(f"/work/project/{path}", "/home/me") is None


@pytest.mark.parametrize(
    "path",
    ["sessions/a.jsonl", "blobs/ab/abc", "mcp-auth.json", "mcp.json", "models.json", "history/x", "*.json"],
)
def test_everything_in_bayous_own_folder_is_secret(path: str) -> None:
    path = path.replace("*", "\ue001")
    assert secret_likelihood(f"/home/me/own/{path}", "/home/me", ("/home/me/own",)) == "likely"


def test_what_a_person_put_into_bayous_folder_to_be_read_is_not() -> None:
    for name in SHOWN_OWN_FILES:
        assert secret_likelihood(f"/home/me/own/{name}", "/home/me", ("/home/me/own",)) == "no"
