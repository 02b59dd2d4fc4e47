"""Which commands of a user get a terminal."""

import pytest

from tools.running.pty.terminal_need import command_needs_terminal


@pytest.mark.parametrize(
    "command",
    [
        "git commit", "git commit -v", "git commit --amend", "git -C sub commit -a", "git rebase -i HEAD~3",
        "git add -p",
        "sudo apt install x", "ssh host", "echo x | sudo tee /etc/y", "vim a.py", "EDITOR=vim git commit",
        "cd a && less b",
        "python", "python3 -i", "psql", "cat a | less", "/usr/bin/top", "docker run -it alpine sh", "crontab -e",
        "git commit -m x && git rebase -i main", "command ssh host ls", "git tag -a v1",
    ],
)  # fmt: skip
def test_what_asks_or_draws(command: str) -> None:
    assert command_needs_terminal(command)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'a message'", "git commit -am x", "git commit --no-edit --amend", "git commit -F-", "git status",
        "git log", "ls", "echo vim", "grep sudo a", "python a.py", "python -c 'x'", "echo 1 | python",
        "psql -c 'select 1'",
        "sudo -n true", "make test", "top --help", "man --version", "git commit -m 'unclosed", "docker run alpine ls",
        "less a > b", "cat <<EOF\nvim\nEOF", "", "   ", "git", "git rebase main", "git tag v1", "git tag -am x v1",
    ],
)  # fmt: skip
def test_commands_that_need_no_terminal_get_none(command: str) -> None:
    assert not command_needs_terminal(command)
