"""What bayou works with lies where no sandboxed command of any session reads or writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tools.box.sandbox_instructions import ConfinementMethod
from tools.files.private_folders import create_private_folder
from tools.tool_definition import ToolError

Boxed = Callable[..., None]
STEPS: tuple[ConfinementMethod, ...] = ("namespaces", "landlock")


@pytest.mark.parametrize("step", STEPS)
async def test_no_other_session_speaks_to_a_lasting_shell_outside(
    home: Path, project: Path, boxed: Boxed, step: ConfinementMethod
) -> None:
    boxed(step)
    free = BoxedCommands(home, project, step, is_persistent=True)
    free.effective_settings.set("sandbox.mode", "off")
    other = BoxedCommands(home, project, step)
    try:
        await free.outcome("echo begun")
        (folder,) = (home / ".bayou/agent/cache/working").glob("bayou-shell-*")
        tried = (
            f"echo 'echo out > {home}/out' > {folder}/evil.sh; timeout 2 sh -c 'echo evil > {folder}/in'; "
            f"cat {folder}/job1.sh"
        )
        assert "echo begun" not in await other.text(tried)
        assert "still" in await free.text("echo still")
        assert not (home / "out").exists() and not (folder / "evil.sh").exists()
    finally:
        free.close()
        other.close()
    assert not folder.exists()


async def test_temporary_files_and_caches_of_a_session_are_hidden_from_other_sessions(
    home: Path, boxed: Callable[[ConfinementMethod], BoxedCommands]
) -> None:
    boxed("namespaces")
    first = BoxedCommands(home, home, "namespaces")
    before, after = (BoxedCommands(home, home, "namespaces") for _ in range(2))
    try:
        waiting = await before.started(
            "mkfifo gate; read -r place <gate; ls -a ${place%/*}; echo evil > $place/evil"
        )
        text = await first.text(
            "mkdir $TMPDIR/a; echo $TMPDIR $XDG_CACHE_HOME; echo mine > $XDG_CACHE_HOME/b; ls $TMPDIR"
        )
        temporary, caches = text.split()[:2]
        assert "a" in text.split() and caches.startswith(temporary)
        await before.text(f"echo {temporary} > gate", "later")
        early = (await waiting.finish(60)).output.text
        late = await after.text(
            f"ls -a {temporary} {caches}; cat {caches}/b; echo evil > {temporary}/evil; echo $TMPDIR"
        )
        for text in (early, late):
            assert (
                "mine" not in text
                and Path(temporary).name not in text.replace(f"{temporary}/evil", "").split()
            )
        assert not Path(temporary, "evil").exists() and Path(caches, "b").read_text() == "mine\n"
        assert Path(late.split()[-1]).name not in temporary
    finally:
        for hands in (first, before, after):
            hands.close()


@pytest.mark.parametrize("step", STEPS)
async def test_outputs_without_a_session_file_are_hidden_from_other_sessions(
    project: Path, boxed: Callable[[ConfinementMethod], BoxedCommands], step: ConfinementMethod
) -> None:
    one, other = boxed(step), boxed(step)
    (project / "fill").write_text("private line\n" * 20_000)
    await one.outcome("cat fill")
    (output,) = one.workspace.artifacts.folders
    (path,) = output.iterdir()
    assert "private" in await one.text(f"head -1 {path}")
    assert "private" not in await other.text(f"head -1 {path}; echo mine > {path}")
    assert path.read_text().startswith("private")


@pytest.mark.parametrize("step", STEPS)
async def test_a_lasting_shell_puts_no_link_where_its_next_script_is_written(
    home: Path, project: Path, boxed: Boxed, step: ConfinementMethod
) -> None:
    boxed(step)
    hands = BoxedCommands(home, project, step, is_persistent=True)
    try:
        (home / "out").write_text("kept\n")
        made = await hands.text(f'ln -s {home}/out "$1/job2.sh"; ls -d "$1"')
        assert "/cache/working/bayou-shell-" in made
        with pytest.raises((OSError, ToolError)):
            await hands.text("echo second")
        assert (home / "out").read_text() == "kept\n"
        assert "third" in await hands.text("echo third")
    finally:
        hands.close()


async def test_a_lasting_shell_works_where_the_home_is_the_workspace(home: Path, boxed: Boxed) -> None:
    boxed()
    hands = BoxedCommands(home, home, "namespaces", is_persistent=True)
    try:
        assert await hands.code("cd /; x=1; false") == 1
        assert "/ 1" in await hands.text('echo "$PWD $x"')
    finally:
        hands.close()


def test_a_private_folder_is_its_users_and_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    made = create_private_folder(tmp_path / "link" / "working", "shell")
    assert made.parent == tmp_path / "real" / "working"
    assert [one.stat().st_mode & 0o777 for one in (made, made.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("way", STEPS)
async def test_the_temporary_folder_is_in_bayous_own_where_no_name_is_free(
    home: Path,
    boxed: Callable[..., BoxedCommands],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    way: ConfinementMethod,
) -> None:
    monkeypatch.setattr("tools.files.private_folders._TEMPORARY_FOLDERS_PARENT", str(tmp_path / "missing"))
    first = boxed(way)
    text = await first.text('echo mine > "$TMPDIR/a" && cat "$TMPDIR/a" && echo "$TMPDIR"')
    said, folder = text.split()
    assert said == "mine" and Path(folder).parent == home / ".bayou/agent/temporary"
    assert "mine" not in await boxed(way).text(f"cat {folder}/a; echo evil > {folder}/a")
    assert Path(folder, "a").read_text() == "mine\n"


async def test_a_session_with_another_tmpdir_is_hidden_too(
    boxed: Callable[..., BoxedCommands], monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    folder = (await boxed().text('echo mine > "$TMPDIR/a"; echo "$TMPDIR"')).strip()
    monkeypatch.setattr("tempfile.tempdir", None)
    assert "mine" not in await boxed().text(f"cat {folder}/a; echo evil > {folder}/a")
    assert Path(folder, "a").read_text() == "mine\n"
