"""`bayou sandbox try` as the superuser and as an ordinary user: the whole program, in a separate home."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from tests.box.conftest import skip_below, skip_without_user_namespaces
from tests.box.ordinary import run_ordinary

User = Literal["root", "ordinary"]
USERS: tuple[User, ...] = ("root", "ordinary")


class BoxedUser:
    """A person with a home and a project in it."""

    def __init__(self, user: User, home: Path) -> None:
        self.user = user
        self.home = home
        self.project = home / "project"

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """What a program prints, its errors too."""
        script = 'cd "$1" && shift && exec "$@" 2>&1'
        argv = ["sh", "-c", script, "sh", str(cwd or self.project), *words]
        if self.user == "ordinary":
            own = {"BAYOU_AGENT_DIR": str(self.home / ".bayou" / "agent"), "BAYOU_SESSION_DIR": ""}
            return run_ordinary(argv, home=self.home, env=own).stdout
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("BAYOU_", "XDG_"))
        }
        done = subprocess.run(
            argv,
            env={**environment, "HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout

    def tries(self, command: str, *, cwd: Path | None = None) -> str:
        """A command in the sandbox, as the agent's would run."""
        return self.run(sys.executable, "-m", "app", "sandbox", "try", command, cwd=cwd)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always")
        return self.run("git", *identity, *words, cwd=cwd)


@contextmanager
def boxed_user(user: User) -> Iterator[BoxedUser]:
    skip_below("namespaces")
    if user == "ordinary":
        skip_without_user_namespaces()
    elif os.geteuid() != 0:
        pytest.skip("this needs the superuser")
    with tempfile.TemporaryDirectory(prefix="bayou-home-") as folder:
        home = Path(folder)
        home.chmod(0o777)
        made = BoxedUser(user, home)
        made.run("mkdir", "-p", str(home / "project"), cwd=home)
        made.run("git", "init", "-q")
        yield made
