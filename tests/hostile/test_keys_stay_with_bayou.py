"""Commands look for keys: in bayou's own process, in their environment, in the list of processes."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from app.extensions.extension_programs import run_program
from tests.modes.processes import COLD_RPC, lines_until, put, start
from tests.support.terminals import terminal
from tests.tools.conftest import ToolCaller
from tools.running.shell_settings import ShellSettings
from tools.running.user_browser import open_page_in_browser
from tools.running.user_shell.user_commands import run_user_command
from tools.running.withheld_environment_variables import is_secret_variable
from tools.session_workspace import SessionWorkspace

KEY = "planted-key-31ab97"
AS_ANYBODY = """
import ctypes, os, sys
for capability in (19, 21, 38):  # looking into processes, administration, measuring performance
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a program that may not look into others' processes even where the tests are run by the superuser."""

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.fixture
def workspace(tmp_path: Path):
    workspace = SessionWorkspace(tmp_path)
    yield workspace
    workspace.close()


@pytest.fixture
def hands(workspace: SessionWorkspace) -> ToolCaller:
    return ToolCaller(workspace)


async def told_by(process: asyncio.subprocess.Process, command: str) -> str:
    put(process, id="1", type="bash", command=command)
    return (await lines_until(process, type="response", command="bash"))[-1]["data"]["output"]


async def ended(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


@on_linux
async def test_a_command_reads_no_key_from_the_environment_or_memory_of_bayou(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    process = await start(
        tmp_path, "--no-session", command=(sys.executable, "-c", AS_ANYBODY, sys.executable, *COLD_RPC[1:])
    )
    for file in ("environ", "mem", "auxv"):
        words = await told_by(process, f"cat /proc/{process.pid}/{file} | tr '\\0' '\\n'")
        assert "Permission denied" in words or "Operation not permitted" in words
        assert KEY not in words
    assert KEY not in await told_by(
        process, "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep planted"
    )
    await ended(process)


@on_linux
async def test_a_key_among_the_words_is_not_in_the_list_of_processes(tmp_path: Path):
    for words in (("--api-key", KEY), (f"--api-key={KEY}",)):
        process = await start(
            tmp_path, "--no-session", "--model", "openai/gpt-6.1-sol", *words, command=COLD_RPC
        )
        listed = await told_by(
            process, f"ps -ww -o args= -p {process.pid} || cat /proc/{process.pid}/cmdline"
        )
        assert KEY not in listed
        assert "--api-key" in listed and "gpt-6.1-sol" in listed
        await ended(process)


SECRETS = {
    "GITHUB_TOKEN": "abc12345",
    "OPENAI_API_KEY_FOR_TESTS": "abc12345",
    "STRIPE_SECRET_KEY": "abc12345",
    "MY_SERVICE_API_KEYS": "abc,def,ghi",
    "SECRETS_OF_MINE": "one two",
    "PGPASSWORD": "swordfish",
    "MYSQL_PWD": "swordfish",
    "SMTP_PASS": "swordfish",
    "AZURE_DEVOPS_EXT_PAT": "abcdefghij",
    "DATABASE_URL": "postgres://me:swordfish@db.example/app",
    "REDIS": "redis://:swordfish@cache.example",
    "CONNECTION": "host=db;Password=swordfish",
    "npm_config__authToken": "npm-abcdef",
    "DEPLOYING": "ghp_" + "a" * 36,
    "PEM": "-----BEGIN RSA PRIVATE KEY-----\nabc",
}
ORDINARY_VARIABLES = {
    "KEYBOARD_LAYOUT": "us",
    "MONKEY": "see",
    "GPG_TTY": "/dev/pts/1",
    "SSH_AUTH_SOCK": "/run/agent.sock",
    "XAUTHORITY": "/root/.Xauthority",
    "PWD": "/somewhere",
    "OLDPWD": "/elsewhere",
    "MAX_OUTPUT_TOKENS": "64000",
    "USE_TOKEN": "true",
    "GOOGLE_APPLICATION_CREDENTIALS": __file__,
    "TLS_KEY": __file__,
    "SSH_PUBLIC_KEY": "ssh-ed25519 AAAA",
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "DATABASE_URL": "postgres://db.example/app",
    "HTTPS_PROXY": "http://me:swordfish@proxy.example:3128",
    "PIP_INDEX_URL": "https://me:swordfish@packages.example/simple",
    "PASSWORD_STORE_DIR": str(Path(__file__).parent),
}


@pytest.mark.parametrize("name", SECRETS)
async def test_what_looks_like_a_secret_is_not_in_the_environment_of_commands(
    name: str, hands: ToolCaller, workspace: SessionWorkspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(name, SECRETS[name])
    assert SECRETS[name].split("\n")[0] not in await hands.text("bash", command="env")
    assert SECRETS[name].split("\n")[0] not in (await run_user_command("env", workspace)).output
    workspace.shell_settings = lambda: ShellSettings(passed_variable_names=(name,))
    assert SECRETS[name].split("\n")[0] in await hands.text("bash", command="env")


@pytest.mark.parametrize("name", ORDINARY_VARIABLES)
def test_ordinary_variables_go_on_as_they_are(name: str):
    assert not is_secret_variable(name, ORDINARY_VARIABLES[name])


async def test_the_result_of_a_command_that_missed_a_variable_says_so(
    hands: ToolCaller, workspace: SessionWorkspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_TOKEN", KEY)
    monkeypatch.setenv("STRIPE_KEY", KEY)
    notice = "Commands do not get variables that look like secrets: GITHUB_TOKEN. "
    for command in (
        'curl -fs -H "Authorization: $GITHUB_TOKEN" nowhere.invalid; true',
        "echo 'KeyError: GITHUB_TOKEN'; exit 1",
    ):
        text = await hands.text("bash", command=command)
        assert notice in text and "shellPassEnvironment" in text
    text = await hands.text("bash", command="echo 'HTTP 401 Unauthorized'; exit 1")
    assert "secrets: GITHUB_TOKEN, STRIPE_KEY. " in text
    assert notice in (await run_user_command("echo $GITHUB_TOKEN", workspace)).output
    for command in (
        "echo fine",
        "exit 3",
        "cat GITHUB_TOKEN_NOTES; true",
        "echo 'GITHUB_TOKEN is documented' | wc",
    ):
        quiet = command.endswith("wc")
        assert ("look like secrets" in await hands.text("bash", command=command)) == quiet
    assert "look like secrets" not in await hands.text(
        "bash", command="echo $GITHUB_TOKEN", env={"GITHUB_TOKEN": "given by the model"}
    )


async def test_a_setting_passes_variables_on(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", KEY)
    monkeypatch.setenv("AWS_SESSION_TOKEN", KEY + "-2")
    settings = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"shellPassEnvironment": ["GITHUB_TOKEN", "AWS_*"], "secrets": {"mask": false}}')
    process = await start(tmp_path, "--no-session", command=COLD_RPC)
    assert (await told_by(process, "echo $GITHUB_TOKEN $AWS_SESSION_TOKEN")).split() == [KEY, KEY + "-2"]
    await ended(process)


def told_its_variables(place: Path, name: str, more: str = "") -> Path:
    """A program that writes down what it was given."""
    path = place / name
    path.write_text(f"#!/bin/sh\n/usr/bin/env > '{place}/given'\n{more}\n")
    path.chmod(0o755)
    return place / "given"


def test_the_clipboards_programs_get_no_key(tmp_path: Path):
    given = told_its_variables(tmp_path, "xclip", "cat > /dev/null; echo pasted")
    place = tmp_path / "project"
    place.mkdir()
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":0", "STRIPE_API_KEY": KEY}
    with terminal(place, "--offline", env={**os.environ, **variables}) as page:
        page.until("shows its work")
        page.press("hello\r")
        page.until("I am bayou")
        page.press("/copy\r")
        page.until("Copied with xclip")
    assert "DISPLAY=:0" in given.read_text() and KEY not in given.read_text()


@pytest.mark.parametrize("passed", [False, True])
def test_an_editor_gets_no_key_that_is_not_passed_on(tmp_path: Path, passed: bool):
    """It stays open, and a command in the background could read its environment."""
    given = told_its_variables(tmp_path, "ed", 'echo "from the editor" > "$1"')
    settings = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"shellPassEnvironment": ["STRIPE_API_KEY"]}' if passed else "{}")
    variables = {"EDITOR": str(tmp_path / "ed"), "STRIPE_API_KEY": KEY}
    with terminal(tmp_path, "--offline", env={**os.environ, **variables}) as page:
        page.until("shows its work")
        page.press("\x07")
        page.until("from the editor")
    assert "EDITOR=" in given.read_text() and (KEY in given.read_text()) == passed


async def test_programs_of_extensions_get_what_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", KEY)
    assert KEY not in (await run_program("env")).stdout
    assert f"TOKEN={KEY}" in (await run_program("env", env={"TOKEN": KEY})).stdout
    assert "PATH=" in (await run_program("env", env={})).stdout


async def test_a_browser_gets_no_key_and_is_none_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given = told_its_variables(tmp_path, "xdg-open")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{tmp_path}:.:{os.environ['PATH']}")
    await open_page_in_browser("https://example.invalid/", outside=tmp_path)
    assert not given.exists()
    monkeypatch.setenv("BROWSER", str(tmp_path / "xdg-open"))
    await open_page_in_browser("file:///etc/passwd", outside=tmp_path / "elsewhere")
    assert not given.exists()
    await open_page_in_browser("https://example.invalid/", outside=tmp_path / "elsewhere")
    async with asyncio.timeout(60):
        while not given.exists() or not given.read_text():  # noqa: ASYNC110  (another process writes it)
            await asyncio.sleep(0.02)
    assert KEY not in given.read_text()


async def test_programs_that_bayou_starts_by_itself_get_no_key_either(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
):
    """A command in the background could read it from their environment."""
    from tools.git.git_command import make_read_only_git_command
    from tools.git.git_config import read_git_configuration

    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    command = make_read_only_git_command(
        tmp_path, "status", repository=read_git_configuration(home=own_home), home=own_home
    )
    assert command is not None and KEY not in str(command.environment)
    assert command.environment["PATH"]
