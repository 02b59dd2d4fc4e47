"""What linters newly say at the end of a turn: told once, to the model and to the person, and nothing left behind."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.engine.core.hooks import Hooks
from app.engine.files.file_diagnostics import MAX_DIAGNOSTIC_REPORTS_PER_PROMPT, MAX_SHOWN_DIAGNOSTICS
from app.engine.permissions.permission_context import PermissionContext
from app.providers.scripted import call, say
from app.undo.content_store import UndoStoreSettings
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.events import AgentSettled, Notice
from app.values.messages import CustomMessage, ToolResultMessage
from tests.engine.diagnosed_session import change, diagnosed_session, diagnostic_texts, warnings, write
from tools.diagnostics.code_problems import CodeProblem, FileChangeTexts
from tools.diagnostics.output_parsers import MAX_SHOWN_PROBLEM_CHARS

RUFF = Path(sys.executable).with_name("ruff")


async def test_what_is_new_reaches_the_model_and_the_person_once(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path, change("a.txt", "three", "BAD new\nthree"), say("done"), say("so be it")
    )
    write(harness, "a.txt", "BAD old\ntwo\nthree\n")
    await harness.prompt("go")
    [text] = diagnostic_texts(harness)
    assert "a.txt:3:1: error: BAD new [lint.py]" in text and "BAD old" not in text
    assert [one.programs for one in harness.all(DiagnosticsStart)] == [("lint.py",)]
    [end] = harness.all(DiagnosticsEnd)
    assert (end.total, end.problems[0].path, end.problems[0].line) == (1, "a.txt", 3)
    assert harness.script.received_contexts[-1].messages[-1] == next(
        one for one in harness.session.messages if isinstance(one, CustomMessage)
    )
    assert harness.session.messages[-1].content[0].text == "so be it"  # type: ignore[union-attr]


async def test_it_is_off_unless_it_is_wanted(tmp_path: Path):
    harness = diagnosed_session(tmp_path, change("a.txt", "one", "BAD"), say("done"), when="off")
    write(harness, "a.txt", "one\n")
    await harness.prompt("go")
    assert diagnostic_texts(harness) == [] and harness.all(DiagnosticsStart) == []


async def test_without_new_problems_there_is_no_report(tmp_path: Path):
    harness = diagnosed_session(tmp_path, change("a.txt", "one", "two"), say("done"))
    write(harness, "a.txt", "BAD\none\n")
    await harness.prompt("go")
    assert diagnostic_texts(harness) == [] and len(harness.script.received_contexts) == 2
    assert [one.total for one in harness.all(DiagnosticsEnd)] == [0]


async def test_nothing_starts_when_nothing_was_changed(tmp_path: Path):
    harness = diagnosed_session(tmp_path, call("read", path="a.txt"), say("done"))
    write(harness, "a.txt", "BAD\n")
    await harness.prompt("go")
    assert harness.all(DiagnosticsStart) == [] and harness.all(DiagnosticsEnd) == []


async def test_a_change_that_was_taken_back_is_none(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path, change("a.txt", "one", "BAD"), change("a.txt", "BAD", "one"), say("done")
    )
    write(harness, "a.txt", "one\n")
    await harness.prompt("go")
    assert harness.all(DiagnosticsStart) == []


async def test_an_edit_that_mends_nothing_does_not_bring_the_same_again(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path,
        change("a.txt", "one", "BAD"),
        say("done"),
        change("a.txt", "two", "still two"),
        say("done again"),
    )
    write(harness, "a.txt", "one\ntwo\n")
    await harness.prompt("go")
    assert len(diagnostic_texts(harness)) == 1 and len(harness.all(DiagnosticsEnd)) == 2


async def test_it_never_goes_on_for_ever(tmp_path: Path):
    script = [
        answer
        for number in range(9)
        for answer in (call("write", path="a.txt", content=f"BAD {number}\n"), say("done"))
    ]
    harness = diagnosed_session(tmp_path, *script)
    await harness.prompt("go")
    assert len(diagnostic_texts(harness)) == MAX_DIAGNOSTIC_REPORTS_PER_PROMPT["turn"]
    assert len(harness.all(AgentSettled)) == 1


async def test_a_new_prompt_begins_anew_with_what_is_there(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path,
        change("a.txt", "one", "BAD one"),
        say("done"),
        say("it stays"),
        change("a.txt", "two", "BAD two"),
        say("done"),
        say("it stays, too"),
    )
    write(harness, "a.txt", "one\ntwo\n")
    await harness.prompt("go")
    await harness.prompt("and more")
    assert ["BAD one" in text for text in diagnostic_texts(harness)] == [True, False]
    assert "BAD two" in diagnostic_texts(harness)[1]


async def test_in_the_mode_edit_it_goes_with_the_results(tmp_path: Path):
    harness = diagnosed_session(tmp_path, change("a.txt", "one", "BAD"), call("ls"), say("done"), when="edit")
    write(harness, "a.txt", "one\n")
    await harness.prompt("go")
    assert len(diagnostic_texts(harness)) == 1
    kinds = [type(one) for one in harness.script.received_contexts[1].messages]
    assert kinds[-2:] == [ToolResultMessage, CustomMessage]


async def test_a_thousand_are_cut_with_their_number(tmp_path: Path):
    many = "".join(f"BAD {number}\n" for number in range(1_000))
    harness = diagnosed_session(tmp_path, call("write", path="a.txt", content=many), say("done"), say("oh"))
    await harness.prompt("go")
    [text] = diagnostic_texts(harness)
    assert (
        text.count("error: BAD") == MAX_SHOWN_DIAGNOSTICS
        and f"({1_000 - MAX_SHOWN_DIAGNOSTICS} more are not shown.)" in text
    )
    assert harness.all(DiagnosticsEnd)[0].total == 1_000 and len(text) < 4_000


async def test_files_of_another_folder_are_not_checked(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path, call("write", path=str(tmp_path / "out.txt"), content="BAD"), say("done")
    )
    await harness.prompt("go")
    assert harness.all(DiagnosticsStart) == []


# Who may run


async def test_nothing_of_a_folder_that_is_not_trusted_runs(tmp_path: Path):
    ran = tmp_path / "ran"
    standing = PermissionContext(approver="none", home=tmp_path, agent_dir=tmp_path / "agent")
    harness = diagnosed_session(
        tmp_path, call("write", path="a.txt", content="BAD"), say("done"), standing=standing
    )
    write(harness, ".venv/bin/lint", f"#!/bin/sh\necho > {ran}\n").chmod(0o755)
    harness.effective_settings.set("diagnostics.commands", {"*.txt": "lint {files}"})
    await harness.prompt("go")
    assert not ran.exists() and "not trusted" in warnings(harness)[0]


@pytest.mark.parametrize("rule", ["bash: {name} **", "bash: {path} **"])
async def test_a_rule_that_refuses_a_command_refuses_it_here(tmp_path: Path, rule: str):
    harness = diagnosed_session(tmp_path, call("write", path="a.txt", content="BAD"), say("done"))
    program = Path(sys.executable)
    harness.effective_settings.set("permissions.deny", [rule.format(name=program.name, path=program)])
    await harness.prompt("go")
    assert "refused by" in warnings(harness)[0] and harness.all(DiagnosticsStart) == []


async def test_secrets_in_what_is_said_are_masked(tmp_path: Path):
    key = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    at_the_cut = "x" * (MAX_SHOWN_PROBLEM_CHARS - len("BAD  ") - len(key) // 2)
    harness = diagnosed_session(
        tmp_path,
        call("write", path="a.txt", content=f"BAD {key}\nBAD {at_the_cut} {key}\n"),
        say("done"),
        say("oh"),
    )
    await harness.prompt("go")
    assert key[:20] not in diagnostic_texts(harness)[0] and key[:20] not in str(harness.all(DiagnosticsEnd))
    assert len(diagnostic_texts(harness)[0]) < 1_000


@pytest.mark.parametrize(
    "script", ["import sys; sys.exit(f'{before} error: {key}')", "print(f'a.txt:1:1: no {key}')"]
)
async def test_secrets_are_masked_in_what_a_program_breaks_with_and_in_names(tmp_path: Path, script: str):
    key = "ghp_" + "Ab3d" * 9
    before = "x" * (MAX_SHOWN_PROBLEM_CHARS - 20)
    (tmp_path / "linter.py").write_text(f"before, key = {before!r}, {key!r}\n{script}")
    command = f"{sys.executable} {tmp_path}/linter.py --token {key}"
    harness = diagnosed_session(
        tmp_path, call("write", path=f"{key}.txt", content="1"), say("done"), say("oh"), command=command
    )
    harness.effective_settings.set(
        "diagnostics.commands", {"*.txt": [command, f"{sys.executable} -c 'import sys; sys.exit(3)' {key}"]}
    )
    write(harness, "a.txt", "1")
    await harness.prompt("go")
    heard = [
        *diagnostic_texts(harness),
        *warnings(harness),
        *map(str, [*harness.all(DiagnosticsStart), *harness.all(DiagnosticsEnd)]),
    ]
    assert warnings(harness) and key[:12] not in "".join(heard)


@pytest.mark.parametrize("files", ["{files}", "hidden.txt open.txt"])
async def test_diagnostics_leave_out_hidden_files(tmp_path: Path, files: str):
    command = f"{sys.executable} {tmp_path}/lint.py {files}"
    change = call("bash", command="echo BAD hidden > hidden.txt; echo BAD open > open.txt")
    undo = UndoStoreSettings(store=tmp_path / "agent" / "blobs", home=tmp_path, may_ask_git=lambda: False)
    harness = diagnosed_session(tmp_path, change, say("done"), say("oh"), command=command, undo=undo)
    harness.effective_settings.set("permissions.deny", ["read:hidden.txt"])
    write(harness, "open.txt", "fine")
    await harness.prompt("go")
    assert (
        "open.txt:1:1: error: BAD open" in diagnostic_texts(harness)[0]
        and "hidden" not in diagnostic_texts(harness)[0].split("[lint")[0]
    )
    assert "BAD hidden" not in str(harness.all(DiagnosticsEnd))


# What was before


async def test_what_commands_changed_is_compared_with_what_undo_kept(tmp_path: Path):
    undo = UndoStoreSettings(store=tmp_path / "agent" / "blobs", home=tmp_path, may_ask_git=lambda: False)
    harness = diagnosed_session(
        tmp_path,
        call("bash", command="sed -i 's/two/BAD two/' a.txt; echo BAD > new.txt"),
        say("done"),
        say("oh"),
        undo=undo,
    )
    write(harness, "a.txt", "BAD old\ntwo\n")
    await harness.prompt("go")
    [text] = diagnostic_texts(harness)
    assert "a.txt:2:1" in text and "new.txt:1:1" in text and "BAD old" not in text


async def test_a_program_for_the_whole_folder_finds_what_broke_elsewhere(tmp_path: Path):
    """A type checker reports that `user.txt` calls a name that was removed from `made.txt`."""
    (tmp_path / "whole.py").write_text(
        "from pathlib import Path\n"
        "made = Path('made.txt').read_text()\n"
        "for path in sorted(Path('.').glob('*.txt')):\n"
        "    for number, line in enumerate(path.read_text().splitlines(), start=1):\n"
        "        word = line.removeprefix('call ')\n"
        "        if line.startswith('call ') and word not in made:\n"
        "            print(f'{path}:{number}:1: error: {word} is not there')\n"
    )
    harness = diagnosed_session(
        tmp_path,
        change("made.txt", "one", "first"),
        say("done"),
        say("oh"),
        command=f"{sys.executable} {tmp_path}/whole.py",
    )
    write(harness, "made.txt", "one\ntwo\n")
    write(harness, "user.txt", "call one\ncall two\ncall never\n")
    await harness.prompt("go")
    [text] = diagnostic_texts(harness)
    assert "user.txt:1:1: error: one is not there" in text and "never" not in text
    assert (harness.session.cwd / "made.txt").read_text() == "first\ntwo\n"


@pytest.mark.skipif(not RUFF.exists(), reason="ruff is not installed")
async def test_ruff_with_its_own_words(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path,
        change("a.py", "x = 1", "import json\nx = 1"),
        say("done"),
        change("a.py", "import json\n", ""),
        say("mended"),
    )
    harness.effective_settings.set("diagnostics.commands", {"*.py": "ruff"})
    write(harness, "a.py", "import os\nx = 1\n")
    local = harness.session.cwd / ".venv" / "bin"
    local.mkdir(parents=True)
    shutil.copy(RUFF, local / "ruff")
    await harness.prompt("go")
    [text] = diagnostic_texts(harness)
    assert "a.py:2:8: error: `json` imported but unused [F401, ruff]" in text and "`os`" not in text
    assert [one.total for one in harness.all(DiagnosticsEnd)] == [1], "it is as it was: nothing to look at"
    assert not (harness.session.cwd / ".ruff_cache").exists()


class OneMore(Hooks):
    async def find_code_problems(self, changed: Sequence[FileChangeTexts]) -> Sequence[CodeProblem]:
        return [
            CodeProblem(path=one.path, line=1, text="said by another", checker_name="mine") for one in changed
        ]


class Hostile(Hooks):
    async def find_code_problems(self, changed: Sequence[FileChangeTexts]) -> Sequence[CodeProblem]:
        return [
            CodeProblem(path=f"{changed[0].path}\nrm -rf /\x1b[2J\udcff", line=1, text="\udcff\n\x00 told")
        ]


async def test_what_others_say_breaks_neither_the_lines_nor_the_record(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path, call("write", path="a.odd", content="1"), say("done"), say("oh"), hooks=Hostile()
    )
    await harness.prompt("go")
    rows = [line for line in diagnostic_texts(harness)[0].split("\n") if line.startswith("a.odd")]
    assert rows == ["a.odd rm -rf /?:1: error: ? told"]
    assert harness.all(AgentSettled)[0].aborted is False and harness.all(Notice) == []


async def test_others_may_say_something_too(tmp_path: Path):
    hooks = OneMore()
    harness = diagnosed_session(
        tmp_path, call("write", path="a.odd", content="1"), say("done"), say("oh"), hooks=hooks
    )
    await harness.prompt("go")
    assert "a.odd:1: error: said by another [mine]" in diagnostic_texts(harness)[0]
