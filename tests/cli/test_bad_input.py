"""What cannot work: one line on standard error that names the thing and the remedy, an exit code, and no traceback."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import warm_bayou
from tests.support.terminals import terminal

_DROP, _DAC_OVERRIDE, _DAC_READ_SEARCH = 24, 1, 2
"""Of Linux: what takes away root's right to pass over the modes of files."""


def bayou(
    *words: str, cwd: Path, before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Without a terminal. With `before`, which is called in the new process, it is one of its own."""
    if before is None:
        return warm_bayou.run(*words, cwd=cwd)
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", *words],
        cwd=cwd, input="", capture_output=True, text=True, timeout=60, preexec_fn=before,
    )  # fmt: skip


def obey_modes() -> None:
    """In the new process: even root may not read what its mode forbids."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            libc.prctl(_DROP, capability, 0, 0, 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--frobnicate"], "Unknown option: --frobnicate. See bayou --help."),
        (["--frobnicate", "-p", "list"], "Unknown option: --frobnicate. See bayou --help."),
        (["-Z"], "Unknown option: -Z. See bayou --help."),
        (["map", "--frobnicate"], "Unknown option: --frobnicate."),
        (["--model"], "--model needs a value"),
        (
            ["--model", "nope", "-p", "list"],
            "No model is called 'nope'. `bayou --list-models` lists all; your own are in ",
        ),
        (["--thinking", "silly"], "--thinking silly: not one of off, minimal"),
        (["--cwd", "nowhere", "-p", "list"], "--cwd nowhere: there is no such folder."),
        (["--cwd", "file", "-p", "list"], "--cwd file: there is no such folder."),
        (["@nowhere", "-p", "look"], "@nowhere: No such file or directory."),
        ([], "No prompt was given. Pass one as an argument or on standard input."),
        (["--resume"], "which needs a terminal. Use --continue"),
        (["--use-theme", "nope", "-p", "list"], "there is no theme 'nope'. Themes: "),
    ],
)
def test_impossible_requests_are_refused(words: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = bayou(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("bayou: ") and told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_flag_in_a_terminal(tmp_path: Path) -> None:
    """It may have been an extension's, so it is known only when the page is there."""
    with terminal(tmp_path, "--frobnicate") as shown:
        assert shown.ended() == 2
        assert shown.left_behind() == []
        assert "bayou: Unknown option: --frobnicate. See bayou --help." in shown.screen


@pytest.mark.parametrize("words", [["-p", "list"], ["map", "x"], ["list"], ["--list-models", "x"], []])
def test_the_folder_one_stands_in_is_gone(words: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = bayou(*words, cwd=folder, before=folder.rmdir)
    assert done.returncode == 2
    assert (
        "The current folder does not exist any more. Change to an existing one, or use --cwd DIR."
        in done.stderr
    )


def test_it_is_gone_in_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with terminal(folder, before=folder.rmdir) as shown:
        assert shown.ended() == 2
        assert "The current folder does not exist any more." in shown.screen


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"theme": ', "settings.json:1: column 11: a value is missing here. None of its settings are used"),
        ("[]", "settings.json:1: must be an object"),
        ('{"theme": 7}', "theme"),
        ('{"nope": 1}', "unknown setting nope"),
        (b"\xff\xfe", "settings.json: is not UTF-8 text in line 1; save the file as UTF-8"),
        (None, "settings.json: is a folder, but a file is needed"),
    ],
    ids=["cut off", "no object", "wrong type", "unknown", "no text", "a folder"],
)
def test_broken_settings_are_told_and_bayou_works(
    text: str | bytes | None, told: str, tmp_path: Path
) -> None:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    if text is None:
        file.mkdir(parents=True)
    else:
        file.parent.mkdir(parents=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = bayou("-p", "list", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "`.` is empty.\n"
    about_settings, about_models = done.stderr.splitlines()
    assert told in about_settings and "No model is connected" in about_models
    with terminal(tmp_path) as shown:
        shown.until("settings.json")
        shown.press("list\r")
        shown.until("is empty")


FORBIDDEN = [
    "project", "project/.bayou", "project/.bayou/extensions", "project/.bayou/settings.json", "project/AGENTS.md",
    "agent/settings.json", "agent/skills", "agent/extensions", "agent/prompts", "agent/themes", "agent/rules",
]  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("flag", ["--approve", "--no-approve"])
def test_what_may_not_be_read_is_left_out(
    name: str, flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = furnished(tmp_path, monkeypatch)
    forbidden = tmp_path / name
    mode = forbidden.stat().st_mode
    forbidden.chmod(0)
    try:
        done = bayou("-p", flag, "list", cwd=project, before=obey_modes)
    finally:
        forbidden.chmod(mode)
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr
    if name == "project":
        assert "permission denied" in done.stdout
    else:
        assert "AGENTS.md" in done.stdout


def test_a_folder_that_may_not_be_entered(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        done = bayou("--cwd", "closed", "-p", "list", cwd=tmp_path, before=obey_modes)
    finally:
        closed.chmod(0o700)
    assert done.returncode == 2
    assert done.stderr == "bayou: --cwd closed: it cannot be entered: Permission denied.\n"


def test_sessions_that_cannot_be_written(tmp_path: Path) -> None:
    sessions = Path(os.environ["BAYOU_AGENT_DIR"]) / "sessions"
    sessions.mkdir(parents=True)
    sessions.chmod(0o500)
    done = bayou("-p", "list", cwd=tmp_path, before=obey_modes)
    assert done.returncode == 1
    assert "cannot be created: permission denied" in done.stderr and "--no-session" in done.stderr
    assert bayou("-p", "list", "--no-session", cwd=tmp_path, before=obey_modes).returncode == 0
    with terminal(tmp_path, before=obey_modes) as shown:
        shown.until("Ask anything")
        shown.press("list\r")
        shown.until("run without saving with --no-session")
        shown.press("\x03\x04")
        shown.ended()
        assert shown.left_behind() == []
    sessions.chmod(0o700)


def furnished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project and an agent folder with something of everything."""
    project, agent = folder / "project", folder / "agent"
    for place in (project / ".bayou", agent):
        for name in ("extensions", "skills", "prompts", "rules", "themes"):
            (place / name).mkdir(parents=True)
        (place / "settings.json").write_text(json.dumps({"quietStartup": True}))
    (project / "AGENTS.md").write_text("Use tabs.")
    monkeypatch.setenv("BAYOU_AGENT_DIR", str(agent))
    return project


def test_a_terminal_too_small_to_work_in(tmp_path: Path) -> None:
    """All that matters is there, it says what would help, and it works."""
    folder = tmp_path / "boats"
    folder.mkdir()
    with terminal(folder, size=(20, 5)) as shown:
        for part in ("80x24.", "Ask anything", "guide"):
            shown.until(part)
        shown.press("list\r")
        shown.until("empty")  # the end of the answer
        shown.resize(80, 24)
        shown.until("is empty")
        shown.until("This terminal is 20x5: enlarge it to at least 80x24.")
        shown.until_idle()
        shown.press("\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []


def test_a_fault_of_ours_without_a_terminal(tmp_path: Path) -> None:
    program = (
        "import sys, app.providers.models.catalogue as catalogue\n"
        "catalogue.ModelCatalogue.load_catalogue = lambda *a, **k: 1 / 0\n"
        "from app.cli.main import main\n"
        "sys.exit(main(['-p', 'list']))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    (report,) = Path(os.environ["BAYOU_AGENT_DIR"]).glob("crashes/*.txt")
    assert done.stderr.endswith(f"Crash report: {report}\n")
    assert "ZeroDivisionError" in report.read_text()
