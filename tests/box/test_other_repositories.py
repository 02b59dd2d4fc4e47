"""What commands make that runs later: other repositories, start-up files of packages, start-up folders of a home."""

from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tests.box.conftest import skip_below
from tests.box.test_confined import Boxed
from tools.box.sandbox_instructions import ConfinementMethod
from tools.running.sandbox_notes import format_sandbox_notes

LEVELS: tuple[ConfinementMethod, ...] = ("namespaces", "landlock")


def writes(path: str) -> str:
    return f"mkdir -p {Path(path).parent}; echo x >> {path}"


@pytest.mark.parametrize("level", LEVELS)
async def test_a_new_repository_of_another_system_is_named_and_its_changes_too(
    boxed: Boxed, project: Path, level: ConfinementMethod
) -> None:
    hands = boxed(level)
    for path in (".hg/hgrc", "sub/.hg/hgrc", ".svn/wc.db", "a/b/.jj/repo/config.toml", ".jj/repo/store/x"):
        outcome = await hands.outcome(writes(path))
        folder = next(part for part in path.split("/") if part in (".hg", ".svn", ".jj"))
        assert any(f"/{folder}" in named for named in outcome.new_autorun_files), (path, outcome)
        assert (project / path).exists() and not outcome.moved_autorun_files
        assert "may run later" in "".join(format_sandbox_notes(outcome, outcome.output.text))
    assert (
        await hands.outcome("echo 1 > .hg/dirstate; echo 2 > .svn/wc.db; mkdir .hg/store")
    ).new_autorun_files == ()
    for path in ("sub/.hg/hgrc", "a/b/.jj/repo/config.toml"):
        outcome = await hands.outcome(writes(path))
        assert any(path in named for named in outcome.new_autorun_files), (path, outcome)
    outcome = await hands.outcome(
        "echo x > sub/.hg/sharedpath; rm -r a/b/.jj/repo; echo /tmp/x > a/b/.jj/repo"
    )
    assert [moved.path for moved in outcome.moved_autorun_files] == [f"{project}/sub/.hg/sharedpath"]
    assert any("a/b/.jj/repo" in named for named in outcome.new_autorun_files)
    outcome = await hands.outcome("echo '[hooks]' >> .hg/hgrc; mv .hg .hgold")
    if level == "namespaces":
        assert (project / ".hg/hgrc").read_text() == "x\n"
    else:
        assert any(".hg" in named for named in outcome.new_autorun_files)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("folder", [".venv/lib", "venv/lib64", "sub/.venv/lib", "env/lib"])
async def test_a_start_up_file_of_python_among_packages_is_named(
    boxed: Boxed, project: Path, level: ConfinementMethod, folder: str
) -> None:
    hands = boxed(level)
    packages = f"{folder}/python3.12/site-packages"
    await hands.outcome(f"mkdir -p {packages}/one/two; touch {packages}/one/x.py")
    for command in (writes(f"{packages}/a.pth"), f"echo 'import os' > {packages}/a.pth"):
        outcome = await hands.outcome(command)
        assert outcome.new_autorun_files == (f"{project}/{packages}/a.pth",), outcome
        assert not outcome.moved_autorun_files
    outcome = await hands.outcome(writes(f"{packages}/sitecustomize.py"))
    assert [moved.path for moved in outcome.moved_autorun_files] == [f"{project}/{packages}/sitecustomize.py"]
    assert (await hands.outcome(f"touch {packages}/one/y.py {packages}/z.py")).new_autorun_files == ()


@pytest.mark.parametrize("level", LEVELS)
async def test_a_start_up_folder_that_a_home_lacks_is_moved_away(
    home: Path, elsewhere: Path, level: ConfinementMethod
) -> None:
    skip_below(level)
    (home / ".ssh" / "id_ed25519").unlink()
    (home / ".ssh").rmdir()
    hands = BoxedCommands(home, home, level)
    try:
        for path in (
            *(".ssh/authorized_keys", ".ssh/rc", ".ssh/config", ".config/autostart/x.desktop", ".bashrc"),
            *(
                ".config/fish/conf.d/x.fish",
                ".local/bin/git",
                ".config/systemd/user/x.service",
                ".vim/plugin/x.vim",
            ),
        ):
            outcome = await hands.outcome(writes(path))
            assert not (home / path).exists() and outcome.moved_autorun_files, (path, outcome)
        (home / ".ssh").mkdir()
        (home / ".ssh" / "config").write_text("Host x\n")
        outcome = await hands.outcome("echo 'ProxyCommand x' >> .ssh/config; echo x > .ssh/rc")
        is_held = (home / ".ssh" / "config").read_text() == "Host x\n" and not (home / ".ssh" / "rc").exists()
        assert (
            is_held
            if level == "namespaces"
            else any("/.ssh/" in named for named in outcome.new_autorun_files)
        )
    finally:
        hands.close()


async def test_a_file_changed_deep_in_a_folder_that_runs_later_is_named(boxed: Boxed, project: Path) -> None:
    (project / "sub/.idea/runConfigurations").mkdir(parents=True)
    (project / "sub/.idea/runConfigurations/x.xml").write_text("old")
    outcome = await boxed().outcome("echo new >> sub/.idea/runConfigurations/x.xml")
    assert outcome.new_autorun_files == (f"{project}/sub/.idea/runConfigurations/x.xml",)
