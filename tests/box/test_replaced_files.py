"""What a program outside replaces while a command runs stays hidden and protected."""

import sys

import pytest

from tests.box.users import USERS, User, boxed_user

COMMAND = """
touch started; until [ -e replaced ]; do sleep 0.02; done
for i in $(seq 500); do
    cat $SECRETS 2>/dev/null | grep -q NEW || [ -w .git/config ] || [ -w .vscode ] || break
    sleep 0.02
done
cat $SECRETS; echo evil >> .git/config; echo evil > .vscode/tasks.json; mv .env moved; echo done
"""
"""Waits until the places are hidden and protected again, which takes some milliseconds, and attacks them then."""
SECRETS = '.env sub/.env "$HOME/.netrc" "$HOME/.docker/config.json" "$HOME/.aws/credentials"'
BEFORE = """
mkdir -p sub .vscode ~/.docker ~/.aws
for file in SECRETS; do echo OLD > "$file"; done
echo .env > .gitignore; echo '{}' > .vscode/tasks.json
""".replace("SECRETS", SECRETS)
REPLACING = {
    "renames over it, as sed does": 'for file in SECRETS; do sed -i s/OLD/NEW/ "$file"; done; git config user.name me',
    "renames it away, as vim does": 'for file in SECRETS .git/config; do mv "$file" "$file~"; '
    'sed s/OLD/NEW/ "$file~" > "$file"; done',
    "removes and writes it": 'for file in SECRETS .git/config; do text="$(sed s/OLD/NEW/ "$file")"; rm "$file"; '
    'sleep 0.1; echo "$text" > "$file"; done',
    "removes and makes the folder": "rm -r .vscode ~/.aws ~/.docker sub; sleep 0.1; "
    "mkdir .vscode ~/.aws ~/.docker sub; "
    'for file in SECRETS; do echo NEW > "$file"; done; echo "{}" > .vscode/tasks.json',
}
USED_UP = "python3 -c 'import ctypes, time; [ctypes.CDLL(None).inotify_init() for _ in range(1000)]; time.sleep(60)'"
SCRIPT = """
cd ~/project; BEFORE
FIRST
"$@" & boxed=$!
until [ -e started ]; do sleep 0.05; done
REPLACING
touch replaced; wait $boxed
"""


def attacked(user: User, replacing: str, *, first: str = "") -> str:
    with boxed_user(user) as person:
        script = SCRIPT.replace("BEFORE", BEFORE).replace("FIRST", first).replace("REPLACING", replacing)
        command = COMMAND.replace("$SECRETS", SECRETS)
        text = person.run(
            "sh",
            "-c",
            script.replace("SECRETS", SECRETS),
            "sh",
            sys.executable,
            "-m",
            "app",
            "sandbox",
            "try",
            command,
        )
        assert "evil" not in (person.project / ".git" / "config").read_text(), text
        assert "evil" not in (person.project / ".vscode" / "tasks.json").read_text(), text
        assert (person.project / ".env").read_text() == "NEW\n"
        return text


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("replacing", REPLACING.values(), ids=REPLACING)
def test_what_is_replaced_stays_hidden_and_protected(user: User, replacing: str) -> None:
    text = attacked(user, replacing)
    assert "done" in text and "NEW" not in text, text


def test_where_the_system_reports_no_changes_bayou_looks_for_them() -> None:
    """A command can use up what the system reports to one user."""
    text = attacked(
        "ordinary",
        REPLACING["renames over it, as sed does"],
        first=USED_UP + " & used=$!; trap 'kill $used' EXIT; sleep 1",
    )
    assert "done" in text and "NEW" not in text, text
