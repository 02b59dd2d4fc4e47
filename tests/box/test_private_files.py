"""Files of programs that only their owner may read, or whose names tell of keys, are hidden and asked about."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.engine.sandbox.private_files import PRIVATE_FILES_CACHE_SECONDS, PrivateHomeFiles
from app.providers.scripted import call, say
from tests.box.conftest import skip_below
from tests.permits.test_gate import gated_session, questions_asked, results
from tests.support.clock import Clock
from tools.box.guarded_paths_and_sockets import find_newly_hidden_paths
from tools.box.sandbox_policy import SandboxPolicy


def write(home: Path, path: str, mode: int = 0o644, text: str = "content") -> Path:
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (".newprogram/session", 0o600),
        (".newprogram/deep/er/session.json", 0o400),
        (".config/newprogram/hosts.yml", 0o600),
        (".config/newprogram.toml", 0o600),
        (".local/share/newprogram/profile/state", 0o600),
        (".local/state/newprogram/login", 0o600),
        ("Library/Application Support/New Program/login", 0o600),
        (".newprogramrc", 0o600),
        (".newprogram/auth.json", 0o644),
        (".newprogram/API_TOKEN", 0o644),
        (".config/newprogram/access-token", 0o644),
        (".config/newprogram/client.credentials", 0o644),
        (".config/newprogram/Cookies", 0o644),
        (".local/share/newprogram/secrets.yaml", 0o644),
        (".newprogram_passwd", 0o644),
        (".newprogram/accessToken.json", 0o644),
        (".newprogram/gcp-service_key.json", 0o644),
        (".config/newprogram/secretKey.yml", 0o644),
        (".config/newprogram/store.kdbx", 0o644),
        (".newprogram/.env", 0o644),
        (".var/app/org.program.New/config/program/login", 0o600),
        (".vim/private-token.txt", 0o644),
    ],
)
def test_a_private_or_telling_file_of_a_program_is_found(tmp_path: Path, path: str, mode: int) -> None:
    file = write(tmp_path, path, mode)
    private = PrivateHomeFiles(str(tmp_path))
    assert private.is_private_file(str(file)) and str(file) in private.find_private_places().files


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        (".newprogram/settings.json", 0o644),
        (".newprogram/run", 0o700),
        (".newprogram/author.json", 0o644),
        (".newprogram/keybindings.json", 0o644),
        (".newprogram/public-key.json", 0o644),
        (".newprogram/ca-bundle.pem", 0o644),
        (".newprogram/tokenizer.json", 0o644),
        (".newprogram/src/auth.py", 0o644),
        (".newprogram/skills/secrets/SKILL.md", 0o644),
        (".newprogram/a/b/c/d/session", 0o600),
        (".gitconfig", 0o600),
        (".config/git/config", 0o600),
        (".npmrc", 0o600),
        (".bashrc", 0o600),
        (".config/pip/pip.conf", 0o600),
        (".local/bin/tool", 0o600),
        (".cargo/registry/index", 0o600),
        (".nvm/alias/default", 0o600),
        (".pyenv/versions/token.txt", 0o644),
        (".rustup/settings.toml", 0o600),
        (".local/share/uv/tools/receipt", 0o600),
        (".android/debug.keystore", 0o644),
        (".cache/program/token", 0o600),
        ("project/.newprogram/session", 0o600),
        ("documents/passwords.txt", 0o600),
    ],
)
def test_what_builds_read_and_what_is_no_programs_stays(tmp_path: Path, path: str, mode: int) -> None:
    file = write(tmp_path, path, mode)
    private = PrivateHomeFiles(str(tmp_path))
    assert not private.is_private_file(str(file))
    assert private.find_private_places().files == () and private.find_private_places().folders == ()


def test_where_all_files_are_made_private_only_names_count(tmp_path: Path) -> None:
    write(tmp_path, ".config/program/settings.json", 0o600)
    token = write(tmp_path, ".config/program/token", 0o600)
    reads = f"print(PrivateHomeFiles({str(tmp_path)!r}).find_private_places().files)"
    code = f"from app.engine.sandbox.private_files import PrivateHomeFiles; {reads}"
    done = subprocess.run(
        [sys.executable, "-c", code], umask=0o077, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str((str(token),))


def test_a_folder_of_private_files_is_hidden_as_a_whole(tmp_path: Path) -> None:
    for number in range(300):
        write(tmp_path, f".newprogram/logins/{number}", 0o600)
    write(tmp_path, ".newprogram/settings.json")
    found = PrivateHomeFiles(str(tmp_path)).find_private_places()
    assert found.folders == (str(tmp_path / ".newprogram" / "logins"),) and found.files == ()


def test_a_new_file_is_found_and_a_link_leads_to_the_file(tmp_path: Path) -> None:
    clock = Clock()
    write(tmp_path, ".newprogram/settings.json")
    private = PrivateHomeFiles(str(tmp_path), clock=clock)
    assert private.find_private_places().files == ()
    file = write(tmp_path, "dotfiles/login", 0o600)
    (tmp_path / ".newprogram" / "login").symlink_to(file)
    clock.now += PRIVATE_FILES_CACHE_SECONDS
    assert private.find_private_places().files == (str(file),) and private.has_private_file_below(
        str(tmp_path / "dotfiles")
    )


def test_a_new_private_file_ends_no_kernel_and_no_shell() -> None:
    """Many programs make such files all the time; a running process keeps what it may see."""
    before = SandboxPolicy(kind="work", hidden_files=("/home/me/.netrc",))
    now = SandboxPolicy(
        kind="work",
        hidden_files=("/home/me/.netrc", "/home/me/.program/new"),
        private=("/home/me/.program/new",),
    )
    assert "/home/me/.program/new" in now.hidden
    assert find_newly_hidden_paths(now, before) == ()


def test_upper_and_lower_case_are_the_same_as_on_some_file_systems(tmp_path: Path) -> None:
    private = PrivateHomeFiles(str(tmp_path))
    for path in (".Config/newprogram/access-token", "LIBRARY/Application Support/New/login-token.json"):
        assert private.is_private_file(f"{tmp_path}/{path}") and private.is_private_file(
            f"{str(tmp_path).upper()}/{path}"
        )


async def test_the_sandbox_hides_it_and_a_yes_shows_it_from_then_on(tmp_path: Path) -> None:
    skip_below("namespaces")
    file = write(tmp_path / "home", ".newprogram/session", 0o600, "the key")
    reads = f"python3 -c \"print(open('{file}').read(), end='', file=open('seen', 'a'))\""
    ask = call("bash", command=reads, allow=[f"read {file}"], reason="the test signs in")
    calls = (call("bash", command=reads), ask, call("bash", command=reads))
    harness = gated_session(tmp_path, *calls, say("ok"), mode="auto-edit")
    seen = harness.session.cwd / "seen"
    place = "~/.newprogram/session"
    reply = ApprovalReply(is_allowed=True, rule=f"sandbox.read: {place}", rule_scope="project")
    (question,) = await questions_asked(harness, reply)
    assert question.approval is not None and question.approval.confirmation_word is None
    assert 'allow: ["read ' in results(harness)[0] and not any(
        "is hidden" in one for one in results(harness)[1:]
    )
    assert seen.read_text() == "the key" * 2


async def test_bayous_own_tools_ask_in_every_mode(tmp_path: Path) -> None:
    file = write(tmp_path / "home", ".newprogram/session", 0o600, "the key")
    link = tmp_path / "home" / "project" / "notes"
    link.parent.mkdir()
    link.hardlink_to(file)
    reads = (call("read", path=str(file)), call("read", path="notes"))
    harness = gated_session(tmp_path, *reads, say("ok"), asks="none")
    harness.session.permissions.rules.set_mode("full")
    await harness.prompt("go")
    assert all("may contain keys" in one and "the key" not in one for one in results(harness))
