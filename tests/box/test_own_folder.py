"""bayou's own folder: hidden from commands and servers, and for its person only."""

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.users import USERS, BoxedUser, boxed_user
from tools.files.sandboxed_files import DeniedBySandbox, SandboxedFiles

KEPT = (
    *("auth.json", "mcp-auth.json", "mcp.json", "models.json", "trust.json", "history/project.jsonl"),
    *("sessions/--other--/one.jsonl", "sessions/--other--/one.artifacts/0.bash.log", "blobs/ab/abcd"),
)


@pytest.fixture(params=USERS)
def user(request: pytest.FixtureRequest) -> Iterator[BoxedUser]:
    with boxed_user(request.param) as made:
        yield made


def fill(own: Path) -> None:
    for name in (*KEPT, "skills/deploy/SKILL.md", "AGENTS.md"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(f"content of {name}")


def test_a_command_sees_nothing_of_it_but_what_was_put_there_to_be_read(user: BoxedUser) -> None:
    own = user.home / ".bayou" / "agent"
    fill(own)
    user.run("chmod", "-R", "a+rX", str(own))
    text = user.tries(
        "cd ~/.bayou/agent; find . | sort; cat $(find . -type f); echo x > new; mv skills gone; true"
    )
    assert "content of skills/deploy/SKILL.md" in text and "content of AGENTS.md" in text
    assert [name for name in KEPT if f"content of {name}" in text or f"./{name}\n" in text] == []
    assert not (own / "new").exists() and (own / "skills").is_dir()


def test_a_linked_folder_of_skills_can_be_read(user: BoxedUser) -> None:
    fill(user.home / ".bayou" / "agent")
    (user.home / "dotfiles").mkdir()
    (user.home / "dotfiles" / "a.md").write_text("a linked prompt")
    (user.home / ".bayou" / "agent" / "prompts").symlink_to("../../dotfiles")
    user.run("chmod", "-R", "a+rX", str(user.home))
    assert "a linked prompt" in user.tries("cat ~/.bayou/agent/prompts/a.md")


def test_a_key_that_is_renewed_while_a_command_runs_stays_hidden(user: BoxedUser) -> None:
    own = user.home / ".bayou" / "agent"
    fill(own)
    user.run("chmod", "-R", "a+rwX", str(user.home))
    renew = "echo renewed > ~/.bayou/agent/new; mv ~/.bayou/agent/new ~/.bayou/agent/auth.json; touch ~/project/renewed"
    look = "until [ -e renewed ]; do sleep 0.05; done; cat ~/.bayou/agent/auth.json; echo looked"
    # The one waits in the sandbox for the other, which is outside of it.
    script = f"({sys.executable} -m app sandbox try '{look}') & sleep 1; {renew}; wait"
    text = user.run("sh", "-c", script)
    assert "looked" in text and "renewed" not in text


def test_where_it_is_worked_in_the_rest_is_hidden(user: BoxedUser) -> None:
    own = user.home / ".bayou" / "agent"
    fill(own)
    (own / "extensions" / "mine").mkdir(parents=True)
    user.run("chmod", "-R", "a+rwX", str(user.home))
    text = user.tries(
        "echo made > new.py; cat ../../auth.json ../../mcp.json", cwd=own / "extensions" / "mine"
    )
    assert (own / "extensions" / "mine" / "new.py").read_text() == "made\n"
    assert "content of" not in text
    text = user.tries("cat auth.json mcp.json sessions/*/* skills/*/*", cwd=own)
    assert "content of skills" in text
    assert "content of auth" not in text and "content of sessions" not in text


def test_every_start_makes_it_private(user: BoxedUser) -> None:
    own = user.home / ".bayou" / "agent"
    user.run("mkdir", "-p", str(own / "sessions"), str(own / "blobs"), str(own / "skills"))
    user.run("chmod", "755", str(own), str(own / "sessions"), str(own / "blobs"), str(own / "skills"))
    user.run(sys.executable, "-m", "app", "--offline", "-p", "hello", "--no-session")
    modes = {name: stat.S_IMODE((own / name).stat().st_mode) for name in (".", "sessions", "blobs", "skills")}
    assert modes == {".": 0o700, "sessions": 0o700, "blobs": 0o700, "skills": 0o755}


def test_the_first_start_makes_it_private(user: BoxedUser) -> None:
    user.run(sys.executable, "-m", "app", "--offline", "-p", "hello")
    own = user.home / ".bayou" / "agent"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


async def test_a_server_in_the_box_reads_no_tokens_of_another(boxed, home: Path) -> None:
    fill(home / ".bayou" / "agent")
    hands: BoxedCommands = boxed()
    box = await hands.boxes.box_for_program()
    assert box is not None
    own = home / ".bayou" / "agent"
    assert [name for name in KEPT if box.may_read(str(own / name))] == []


def test_bayous_own_tools_read_nothing_of_it_either(boxed, home: Path) -> None:
    own = home / ".bayou" / "agent"
    fill(own)
    hands: BoxedCommands = boxed()
    files = SandboxedFiles(hands.boxes.box_for_file_tools)
    for name in KEPT:
        with pytest.raises(DeniedBySandbox):
            files.open(str(own / name))
    with files.open(str(own / "skills" / "deploy" / "SKILL.md")) as opened:
        assert b"content" in opened.read()


async def test_with_landlock_alone_the_same(boxed, home: Path) -> None:
    fill(home / ".bayou" / "agent")
    text = await boxed("landlock").text("cat $(find ~/.bayou -type f)")
    assert "content of skills/deploy/SKILL.md" in text
    assert [name for name in KEPT if f"content of {name}" in text] == []
