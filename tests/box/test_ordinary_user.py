"""The sandbox of an ordinary user: the whole program, whose memory cannot be inspected."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box.conftest import skip_below, skip_without_user_namespaces
from tests.box.ordinary import run_ordinary

BAYOU = [sys.executable, "-m", "app"]


@pytest.fixture
def ordinary_home() -> Iterator[Path]:
    skip_below("namespaces")
    skip_without_user_namespaces()
    with tempfile.TemporaryDirectory(prefix="bayou-home-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        (home / ".ssh").mkdir()
        (home / ".ssh" / "id_ed25519").write_text("a key")
        (home / "project").mkdir()
        subprocess.run(["git", "init", "-q", str(home / "project")], check=True)
        yield home


def bayou(home: Path, *words: str) -> str:
    script = 'cd "$1" && shift && exec "$@"'
    done = run_ordinary(["sh", "-c", script, "sh", str(home / "project"), *BAYOU, *words], home=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_ordinary_user_has_all_of_the_sandbox(ordinary_home: Path) -> None:
    assert "This system has full sandbox: separate mounts and network" in bayou(ordinary_home, "sandbox")


def test_a_command_of_an_ordinary_user_neither_sees_keys_nor_plants_hooks(ordinary_home: Path) -> None:
    attack = "echo ran; cat ~/.ssh/id_ed25519; echo evil > .git/hooks/pre-commit; echo evil >> .git/config"
    text = bayou(ordinary_home, "sandbox", "try", f"{attack}; true")
    assert "ran" in text and "a key" not in text
    git = ordinary_home / "project" / ".git"
    assert not (git / "hooks" / "pre-commit").exists() and "evil" not in (git / "config").read_text()


def test_links_that_may_not_be_read_lose_no_note_and_break_no_command(ordinary_home: Path) -> None:
    names = "odd/.git .vscode .git/hooks/x .git/COMMIT_EDITMSG x"
    links = f"mkdir odd; for one in {names}; do ln -s /proc/1/root/x $one; done"
    text = bayou(
        ordinary_home,
        "sandbox",
        "try",
        f"{links}; echo evil > .envrc; echo 'cat: /proc/1/root/etc/x: Permission denied'; true",
    )
    assert ".envrc runs later outside of the sandbox, so it was moved" in text
    assert "ran" in bayou(ordinary_home, "sandbox", "try", "echo ran")


def test_no_other_devices_are_there(ordinary_home: Path) -> None:
    """One that everybody may write would be written through a mount that cannot be."""
    found = set(bayou(ordinary_home, "sandbox", "try", "ls /dev").split())
    usual = {
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "pts",
        "ptmx",
        "fd",
        "stdin",
        "stdout",
        "stderr",
    }
    assert "null" in found and found <= usual | {"shm", "dri", "kfd", "nvidiactl", "nvidia-uvm", "nvidia0"}
