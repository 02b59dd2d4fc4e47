"""What commands in a box can do, on this very system."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.permits.permission_decisions import PermissionPolicy, decide_tool_call
from app.permits.shell.command_line import judge_command_line
from tests.box.boxed_commands import BoxedCommands
from tests.box.conftest import skip_below
from tests.permits.lists import PLACE

Boxed = Callable[..., BoxedCommands]


async def test_the_workspace_can_be_written_and_the_home_cannot(
    boxed: Boxed, project: Path, home: Path
) -> None:
    text = await boxed().text("echo in > a.txt && cat a.txt; echo out > ~/b.txt")
    assert (project / "a.txt").read_text() == "in\n"
    assert not (home / "b.txt").exists()
    assert "Read-only file system" in text


async def test_with_landlock_alone_the_same(boxed: Boxed, project: Path, home: Path) -> None:
    text = await boxed("landlock").text("echo in > a.txt; echo out > ~/b.txt; cat ~/.ssh/id_ed25519")
    assert (project / "a.txt").exists() and not (home / "b.txt").exists()
    assert "a key" not in text


async def test_what_git_runs_later_is_protected_and_git_works(boxed: Boxed, project: Path) -> None:
    hands = boxed()
    text = await hands.text(
        "echo 1 > a; git add -A && git -c user.name=x -c user.email=x@y commit -qm first && git log --oneline"
    )
    assert "first" in text
    text = await hands.text("mv .git .git2; echo evil > .git/hooks/pre-commit; echo evil >> .git/config")
    assert not (project / ".git2").exists()
    assert not (project / ".git" / "hooks" / "pre-commit").exists()
    assert "evil" not in (project / ".git" / "config").read_text()


async def test_secrets_of_the_home_are_not_there(boxed: Boxed) -> None:
    assert "a key" not in await boxed().text("cat ~/.ssh/id_ed25519; ls -a ~/.ssh")


async def test_what_only_reads_cannot_write_even_inside(boxed: Boxed, project: Path) -> None:
    (project / ".env").write_text("PASSWORD=hunter2hunter2")
    hands = boxed()
    hands.let_run("r", kind="read")
    text = await hands.text("touch x; cat .env; cat <<EOF\nhere $(mktemp)\nEOF", "r")
    assert not (project / "x").exists()
    assert "hunter2" not in text
    assert "here" in text


async def test_without_a_network_servers_of_the_session_reach_each_other(boxed: Boxed) -> None:
    hands = boxed()
    hands.effective_settings.set("sandbox.network", "off")
    server = "exec python3 -m http.server 8931 --bind 127.0.0.1"
    look = (
        "python3 - <<'E'\nimport time, urllib.request as u\n"
        "for _ in range(100):\n try:\n  print(u.urlopen('http://127.0.0.1:8931').status); break\n"
        " except OSError: time.sleep(0.1)\nE"
    )
    await hands.started(server)
    assert "200" in await hands.text(look)


@pytest.mark.parametrize("step", ["namespaces", "landlock"])
async def test_files_are_renamed_and_linked_into_other_folders(
    boxed: Boxed, project: Path, step: str
) -> None:
    (project / "old").mkdir()
    (project / "old/a.txt").write_text("a")
    rename = "import os; os.rename('old/a.txt', 'b.txt'); os.link('b.txt', 'old/c.txt')"
    assert await boxed(step).code(f'python3 -c "{rename}"') == 0
    assert (project / "b.txt").exists() and (project / "old/c.txt").exists()


async def test_commands_of_one_session_signal_only_each_other(boxed: Boxed) -> None:
    import os

    hands = boxed()
    number = (await hands.started("exec sleep 500")).pid
    text = await hands.text(f"kill {number} && echo ended; kill -0 {os.getpid()} || echo refused")
    assert "ended" in text and "refused" in text


async def test_a_command_that_was_let_out_is_not_boxed(boxed: Boxed, home: Path) -> None:
    hands = boxed()
    hands.let_run("o", kind="outside")
    await hands.outcome("echo out > ~/b.txt", "o")
    assert (home / "b.txt").exists()


async def test_a_shell_that_lasts_is_boxed_and_what_is_let_out_runs_beside_it(
    home: Path, project: Path, boxed: Boxed
) -> None:
    boxed()
    hands = BoxedCommands(home, project, "namespaces", is_persistent=True)
    try:
        hands.let_run("o", kind="outside")
        await hands.outcome("x=1; echo out > ~/b.txt")
        assert not (home / "b.txt").exists()
        await hands.outcome("echo out > ~/b.txt", "o")
        assert (home / "b.txt").exists()
        assert "x is 1" in await hands.text("echo x is $x")
    finally:
        hands.close()


async def test_a_shell_that_was_not_boxed_is_not_used_in_a_box(
    home: Path, project: Path, boxed: Boxed
) -> None:
    boxed()
    hands = BoxedCommands(home, project, "namespaces", is_persistent=True)
    try:
        hands.effective_settings.set("sandbox.mode", "off")
        await hands.outcome("echo out > ~/b.txt")
        assert (home / "b.txt").exists()
        hands.effective_settings.set("sandbox.mode", "auto")
        await hands.outcome("echo out > ~/c.txt")
        assert not (home / "c.txt").exists()
    finally:
        hands.close()


async def test_a_workspace_by_a_link_is_the_folder_that_it_leads_to(
    home: Path, project: Path, boxed: Boxed
) -> None:
    boxed()
    link = home / "link"
    link.symlink_to(project)
    hands = BoxedCommands(home, link, "namespaces")
    try:
        await hands.outcome("echo in > a.txt")
        assert (project / "a.txt").exists()
    finally:
        hands.close()


async def test_a_linked_work_tree_can_commit_and_protects_the_hooks_of_all(
    home: Path, project: Path, boxed: Boxed
) -> None:
    first = boxed()
    await first.outcome("git -c user.name=x -c user.email=x@y commit -q --allow-empty -m one")
    first.let_run("o", kind="outside")
    await first.outcome("git worktree add -q ../tree", "o")
    hands = BoxedCommands(home, home / "tree", "namespaces")
    try:
        text = await hands.text(
            "echo 1 > a; git add a && git -c user.name=x -c user.email=x@y commit -qm two; git log --oneline;"
            f"echo evil > {project}/.git/hooks/x; echo out > {project}/b"
        )
        assert "two" in text
        assert not (project / ".git" / "hooks" / "x").exists() and not (project / "b").exists()
    finally:
        hands.close()


@pytest.mark.parametrize("name", ["off", "required"])
async def test_the_setting_counts_at_the_next_command(name: str, boxed: Boxed, home: Path) -> None:
    hands = boxed()
    hands.effective_settings.set("sandbox.mode", name)
    await hands.outcome("echo out > ~/b.txt")
    assert (home / "b.txt").exists() == (name == "off")


async def test_a_workspace_in_shared_memory(home: Path, elsewhere: Path, boxed: Boxed) -> None:
    skip_below("namespaces")
    folder = Path(tempfile.mkdtemp(prefix="bayou-box-", dir="/dev/shm"))
    hands = BoxedCommands(home, folder, "namespaces")
    try:
        text = await hands.text("echo in > a.txt; echo out > ~/b.txt; pwd")
        assert (folder / "a.txt").exists() and not (home / "b.txt").exists(), text
    finally:
        hands.close()
        shutil.rmtree(folder)


async def test_the_home_as_the_workspace(home: Path, elsewhere: Path, boxed: Boxed) -> None:
    skip_below("namespaces")
    (home / ".bashrc").write_text("old")
    hands = BoxedCommands(home, home, "namespaces")
    try:
        text = await hands.text(
            "echo in > a.txt; echo evil >> .bashrc; cat .ssh/id_ed25519; echo k > .ssh/authorized_keys"
        )
        assert (home / "a.txt").exists() and "a key" not in text
        assert (home / ".bashrc").read_text() == "old" and not (home / ".ssh" / "authorized_keys").exists()
    finally:
        hands.close()


async def test_the_root_as_the_workspace(home: Path, elsewhere: Path, boxed: Boxed) -> None:
    """Everything is the workspace then; what the system is made of is protected, and so are keys."""
    skip_below("namespaces")
    hands = BoxedCommands(home, Path("/"), "namespaces")
    try:
        text = await hands.text(f"echo in > {home}/a.txt; touch /etc/evil /usr/evil; cat ~/.ssh/id_ed25519")
        assert (home / "a.txt").exists() and "a key" not in text, text
        assert not Path("/etc/evil").exists() and not Path("/usr/evil").exists()
    finally:
        hands.close()


async def test_a_workspace_that_a_command_replaces_by_a_link_leads_nowhere(
    home: Path, elsewhere: Path, boxed: Boxed
) -> None:
    skip_below("namespaces")
    folder = elsewhere / "project"
    folder.mkdir()
    hands = BoxedCommands(home, folder, "namespaces")
    try:
        await hands.outcome(f"cd {elsewhere} && mv project aside && ln -s {home} project")
        await hands.outcome("echo out > b.txt")
        assert not (home / "b.txt").exists()
    finally:
        hands.close()


async def test_what_one_call_was_let_through_to_is_not_for_a_shell_that_lasts(boxed: Boxed) -> None:
    hands = boxed()
    hands.effective_settings.set("sandbox.network", "off")
    hands.let_run("n", kind="work", uses_network=True, programs=frozenset({"git"}))
    box = await hands.boxes.box_for_call("n", lasts=True)
    assert box is not None and box.network == "own" and not box.may_read(f"{Path.home()}/.ssh/id_ed25519")
    once = await hands.boxes.box_for_call("n")
    assert once is not None and once.may_read(f"{Path.home()}/.ssh/id_ed25519")


async def test_what_is_not_known_of_a_command_takes_its_network_not_away(boxed: Boxed) -> None:
    hands = boxed()
    key = f"{Path.home()}/.ssh/id_ed25519"
    for command, sees in (("git push origin main; frobnicate", True), ("git status; frobnicate", False)):
        verdict = judge_command_line(command, PLACE)
        assert verdict.risk == "contained"
        hands.boxes.remember_decision(
            "n", decide_tool_call(verdict, "bash", PermissionPolicy(mode="ask"), PLACE), "ask"
        )
        box = await hands.boxes.box_for_call("n")
        assert box is not None and box.may_read(key) == sees


async def test_no_file_is_shared_by_a_hard_link_between_a_cache_and_the_workspace(
    boxed: Boxed, home: Path, project: Path
) -> None:
    (home / ".cache" / "module.py").write_text("cached")
    text = await boxed().text("ln ~/.cache/module.py module.py; echo own > own.py; ln own.py ~/.cache/own.py")
    assert not (project / "module.py").exists() and not (home / ".cache" / "own.py").exists(), text


async def test_a_link_to_a_key_of_the_home_hides_that_and_stops_no_reading_command(
    boxed: Boxed, project: Path, home: Path
) -> None:
    (project / "key.pem").symlink_to(home / ".ssh" / "id_ed25519")
    (project / "deploy.key").symlink_to("real.pem")
    (project / "real.pem").write_text("another key")
    (project / "a.txt").write_text("a text")
    hands = boxed()
    hands.let_run("r", kind="read")
    text = await hands.text("cat a.txt key.pem deploy.key real.pem", "r")
    assert "a text" in text and "a key" not in text and "another key" not in text


async def test_a_start_up_file_that_a_command_makes_in_the_home_is_moved_away(
    boxed: Boxed, home: Path
) -> None:
    hands = boxed()
    hands.workspace.cwd = home
    outcome = await hands.outcome(
        "echo evil > .bash_profile; mkdir -p .config/fish; echo x > .config/fish/a.fish"
    )
    moved = [one.path for one in outcome.moved_autorun_files]
    assert f"{home}/.bash_profile" in moved and any(path.startswith(f"{home}/.config/fish") for path in moved)
    assert not (home / ".bash_profile").exists()


async def test_settings_and_hooks_of_an_agent_that_no_row_names_are_named(
    boxed: Boxed, project: Path
) -> None:
    hands = boxed()
    made = await hands.outcome(
        "mkdir -p .newagent/hooks && echo x | tee .newagent/settings.json > .newagent/hooks/a"
    )
    assert {Path(path).name for path in made.new_autorun_files} == {
        "settings.json",
        "a",
    } and made.moved_autorun_files == ()
    assert (await hands.outcome("echo x > .newagent/notes.md")).new_autorun_files == ()
    changed = await hands.outcome("echo y > .newagent/hooks/a")
    assert changed.new_autorun_files == (f"{project}/.newagent/hooks/a",)


async def test_prompts_of_agents_and_files_of_nix_are_moved_away(boxed: Boxed, project: Path) -> None:
    made = await boxed().outcome(
        "mkdir -p .claude/skills/a sub && echo x > .claude/skills/a/SKILL.md; echo x > sub/flake.nix"
    )
    assert {one.path for one in made.moved_autorun_files} == {
        f"{project}/.claude/skills",
        f"{project}/sub/flake.nix",
    }
