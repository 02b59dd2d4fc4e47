"""The person's start-up files are read for what they define: what they would write or send beside that is not done."""

from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import ConfinementMethod
from tools.running.shell_settings import ShellSettings
from tools.running.user_shell.shell_snapshot import UserShellSnapshotCache, get_user_shell_snapshot
from tools.tool_definition import ToolError

pytestmark = pytest.mark.skipif(
    not system_sandbox_features().step.startswith("namespaces"), reason="this system cannot make mounts"
)


def _hands(tmp_path: Path, step: ConfinementMethod = "namespaces") -> BoxedCommands:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (home / ".bashrc").write_text(
        'echo x >"$HOME/written" || alias was_refused=true\n'
        'echo mine >"$TMPDIR/own" && . /dev/stdin <<<"alias kept=true"\n'
        "why=$( (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1 )\n"
        "case $why in *refused*) ;; *) alias no_network=true;; esac\n"
    )
    hands = BoxedCommands(home, project, step)
    settings = ShellSettings(
        shell_path="/bin/bash", user_shell=UserShellSnapshotCache(tmp_path / "kept", home)
    )
    hands.workspace.shell_settings = lambda: settings
    return hands


async def test_nothing_that_they_write_or_send_is_done(tmp_path: Path) -> None:
    hands = _hands(tmp_path)
    found = await get_user_shell_snapshot(hands.workspace, hands.workspace.shell_settings())
    assert found is not None and found.problem == ""
    assert set(found.aliases) == {"was_refused", "kept", "no_network"}
    assert not (tmp_path / "home" / "written").exists()
    hands.close()


@pytest.mark.parametrize("kind", ["work", "read"])
async def test_what_the_persons_shell_has_is_there_in_the_box(tmp_path: Path, kind: str) -> None:
    """It is kept in bayou's own folder, which boxes hide."""
    hands = _hands(tmp_path)
    home = tmp_path / "home"
    (home / ".bashrc").write_text("alias greet='echo hello'\nanswer() { echo 42; }\n")
    own = home / ".bayou" / "agent"
    settings = ShellSettings(
        shell_path="/bin/bash", user_shell=UserShellSnapshotCache(own / "cache" / "shell", home)
    )
    hands.workspace.shell_settings = lambda: settings
    hands.let_run("c", kind=kind)
    text = await hands.text(f"greet; answer; ls {own}/cache; echo x >{own}/cache/shell/new")
    assert text.startswith("hello\n42\nshell\n") and "Read-only file system" in text
    hands.close()


async def test_where_the_person_wants_no_sandbox_there_is_none(tmp_path: Path) -> None:
    hands = _hands(tmp_path)
    hands.effective_settings.set("sandbox.mode", "off")
    await get_user_shell_snapshot(hands.workspace, hands.workspace.shell_settings())
    assert (tmp_path / "home" / "written").exists()
    hands.close()


async def test_where_nothing_may_run_outside_and_no_sandbox_can_be_made_they_are_not_read(
    tmp_path: Path,
) -> None:
    hands = _hands(tmp_path, "none")
    hands.effective_settings.set("sandbox.mode", "required")
    found = await get_user_shell_snapshot(hands.workspace, hands.workspace.shell_settings())
    assert found is not None and found.problem.startswith("Nothing was run") and not found.file
    with pytest.raises(ToolError):
        hands.boxes.box_for_start_up_files(str(tmp_path))
    hands.close()
