"""Files of the project that hold secrets are empty for commands in the sandbox, until a person says yes to one."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.providers.scripted import call, say
from tests.box.conftest import skip_below
from tests.box.test_confined import Boxed
from tests.permits.test_gate import gated_session, questions_asked, results
from tools.files.sandboxed_files import DeniedBySandbox, SandboxedFiles

READS = "python3 -c \"print(len(open('.env').read()), file=open('length', 'w'))\""


def project(folder: Path, *calls: Any) -> Any:
    skip_below("namespaces")
    harness = gated_session(folder, *calls, say("ok"), mode="auto-edit")
    (harness.session.cwd / ".env").write_text("KEY=x1\n")
    return harness


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def length(harness: Any) -> str:
    return (harness.session.cwd / "length").read_text().strip()


async def test_a_program_finds_the_file_empty_and_the_result_says_what_to_ask_for(tmp_path: Path) -> None:
    harness = project(tmp_path, call("bash", command=READS))
    assert await questions_asked(harness) == []
    assert length(harness) == "0"
    assert ".env is hidden" in results(harness)[0] and 'allow: ["read ' in results(harness)[0]


async def test_a_yes_shows_the_file_and_always_keeps_that_for_the_project(tmp_path: Path) -> None:
    ask = call("bash", command=READS, allow=["read .env"], reason="the server wants it")
    harness = project(tmp_path, ask, call("bash", command=READS), call("bash", command=READS))
    place = "~/project/.env"
    reply = ApprovalReply(is_allowed=True, rule=f"sandbox.read: {place}", rule_scope="project")
    (question,) = await questions_asked(harness, reply)
    assert question.approval is not None and question.approval.confirmation_word is None
    assert question.approval.parts[0].text == f"allow reading {place}"
    assert [rule.text for rule in question.approval.rules] == [f"sandbox.read: {place}"]
    assert length(harness) == "7" and not any("hidden" in text for text in results(harness))
    assert list(harness.effective_settings.settings.permissions.allow_in.values()) == [
        (f"sandbox.read: {place}",)
    ]


async def test_a_folder_that_is_moved_takes_no_secret_into_sight(tmp_path: Path) -> None:
    moves = "python3 -c \"import os; os.rename('deep', 'other')\"; true"
    counted = "sum(len(open(p).read()) for p in glob.glob('*/.env'))"
    reads = f"python3 -c \"import glob; print({counted}, file=open('length', 'w'))\""
    harness = project(tmp_path, call("bash", command=moves), call("bash", command=reads))
    (harness.session.cwd / "deep").mkdir()
    (harness.session.cwd / "deep/.env").write_text("KEY=x1\n")
    await questions_asked(harness)
    assert length(harness) == "0"


async def test_it_cannot_be_committed_unseen(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.run('git add -f .env; git add -A; git commit -qm x', shell=True)"
    harness = project(tmp_path, call("bash", command=f'python3 -c "{script}"'))
    git(harness.session.cwd, "init", "-q")
    await questions_asked(harness)
    assert ".env" not in git(harness.session.cwd, "ls-files").split()


@pytest.mark.parametrize("is_tracked", [True, False])
async def test_what_git_holds_and_what_commands_make_is_seen(tmp_path: Path, is_tracked: bool) -> None:
    reads = "python3 -c \"print(len(open('test.pem').read()), file=open('length', 'w'))\""
    makes = "python3 -c \"open('test.pem', 'w').write('a certificate')\""
    calls = [call("bash", command=reads)] if is_tracked else [call("bash", command=c) for c in (makes, reads)]
    harness = project(tmp_path, *calls)
    if is_tracked:
        (harness.session.cwd / "test.pem").write_text("a certificate")
        git(harness.session.cwd, "init", "-q")
        git(harness.session.cwd, "add", "test.pem")
    await questions_asked(harness)
    assert length(harness) == "13"


MOVES = {
    "renamed": "mv .env plain",
    "linked": "ln .env plain && rm .env",
    "with its folder": "mv sub other && ln other/.env plain && rm other/.env",
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("kind", ["work", "read"])
async def test_where_a_move_cannot_be_prevented_the_moved_file_stays_hidden(
    boxed: Boxed, project: Path, move: str, kind: str
) -> None:
    hands = boxed("landlock")
    (project / "sub").mkdir()
    for name in (".env", "sub/.env"):
        (project / name).write_text("KEY=x1\n")
    await hands.text(move)
    assert (project / "plain").read_text() == "KEY=x1\n"
    hands.let_run("next", kind=kind)
    assert "x1" not in await hands.text("cat plain", "next")
    with pytest.raises(DeniedBySandbox):
        SandboxedFiles(hands.boxes.box_for_file_tools).open(str(project / "plain"))


async def test_a_new_file_is_not_taken_for_a_removed_secret_file(boxed: Boxed, project: Path) -> None:
    (project / ".env").write_text("KEY=x1\n")
    hands = boxed("landlock")
    await hands.text("rm .env; echo new > plain")
    assert await hands.text("cat plain") == "new\n"
