"""The real program in a real pseudo-terminal: how it starts, how it is typed into, steps aside, ends and survives."""

import fcntl
import os
import shutil
import signal
import sys
import termios
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.terminals import LIMIT, Terminal, terminal

PAGE = "Ask anything"


def is_as_wide(shown: Terminal, width: int) -> bool:
    """Whether the header, whose last words stand at the right, is drawn for this width."""
    headers = [
        line.rstrip()
        for line in shown.screen.split("\n")
        if line.rstrip().endswith(("language model", "offline guide"))
    ]
    return any(width - 3 <= len(line) <= width for line in headers)


"""Is on the page when it waits for a prompt."""


def test_ctrl_d_leaves_and_the_terminal_is_given_back(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press("\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []


def test_the_way_back_is_printed(tmp_path: Path) -> None:
    with terminal(tmp_path, "help") as shown:
        shown.until("shows this")
        shown.until_idle()
        shown.press("\x04")
        assert shown.ended() == 0
        assert "To resume this session: bayou --session" in shown.screen


def test_what_is_typed_before_the_page_is_there_is_sent(tmp_path: Path) -> None:
    """From the first moment, when the terminal still cooks lines, until the page has painted."""
    (tmp_path / "boat.txt").write_text("afloat")
    with terminal(tmp_path) as shown:
        shown.press("read boat.txt\n")
        shown.until("afloat")


def test_keys_before_the_page_are_keys(tmp_path: Path) -> None:
    with terminal(tmp_path, is_cold=True) as shown:
        shown.until(lambda: b"\x1b]11;?" in shown.sent)
        shown.press("unsaid\x7f\x7f\x7f\x7f\x7f\x7fsaid")
        shown.until("\n› said")


def test_a_paste_never_presses_enter(shared_terminal: Terminal) -> None:
    """Not even with escape sequences in it that a terminal ought to have taken out."""
    hostile = "one\r\x1b[A\x1b]0;" + "x" * 60 + "\x07\rtwo"
    shared_terminal.press(f"\x1b[200~{hostile}\x1b[201~")
    shared_terminal.until("two")
    assert shared_terminal.screen.count("› one") == 1, "it stands in the editor, and was not sent"


def test_a_new_size_is_drawn(shared_terminal: Terminal) -> None:
    shown = shared_terminal
    for columns, lines in ((200, 60), (40, 10), (20, 5), (2, 2), (80, 24)):
        shown.resize(columns, lines)
    shown.until(lambda: PAGE in shown.screen and is_as_wide(shown, 80))
    shown.press("still here")
    shown.until("still here")


SLOWLY_READ_SIZES = """
import sys, time
from textual.drivers.linux_driver import LinuxDriver
read = LinuxDriver._get_terminal_size
def slowly(self):
    size = read(self)
    time.sleep(0.02)
    return size
LinuxDriver._get_terminal_size = slowly
from app.cli.main import main
sys.exit(main([]))
"""


def test_a_size_that_is_read_slowly_is_not_overtaken_by_a_newer_one(tmp_path: Path) -> None:
    with terminal(tmp_path, program=SLOWLY_READ_SIZES) as shown:
        shown.until(PAGE)
        for _ in range(3):
            shown.resize(2, 2)
            time.sleep(0.005)  # the older size is being read
            shown.resize(80, 24)
            shown.until(lambda: PAGE in shown.screen and is_as_wide(shown, 80))


SHELL = "import os; os.environ.update(PS1='ready> '); os.execvp('sh', ['sh', '-i'])"
WRAPPERS = {
    "nothing": "{}",
    "a script": "./wrapper {}",
    "two shells": "sh -c 'sh -c \"{}; true\"; true'",
    "make": "make",
    "time": "/usr/bin/time -p {}",
}


def in_a_shell(folder: Path) -> AbstractContextManager[Terminal]:
    """With job control: the shell has the terminal, and lends it to what it starts."""
    (folder / "wrapper").write_text(
        f"#!{sys.executable}\nimport subprocess, sys\nsys.exit(subprocess.call(sys.argv[1:]))\n"
    )
    (folder / "wrapper").chmod(0o755)
    (folder / "Makefile").write_text(f"all:\n\t{COMMAND}\n")
    return terminal(folder, program=SHELL, before=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))


COMMAND = f"{sys.executable} -P -m app"


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_it_steps_into_the_background_and_comes_back(tmp_path: Path, wrapper: str) -> None:
    """Its parent processes stop too, because the shell waits for them; the terminal has another size afterwards."""
    words = WRAPPERS[wrapper].format(COMMAND)
    program = words.split()[0]
    if program in ("make", "/usr/bin/time") and shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    with in_a_shell(tmp_path) as shown:
        shown.until("ready>")
        shown.press(f"{words}\n")
        shown.until(PAGE)
        shown.press("kept")
        shown.until("kept")
        for times, (columns, lines) in enumerate(((80, 24), (111, 31), (60, 20)), 1):
            shown.press("\x1a")
            shown.until(lambda count=times: shown.screen.count("Stopped") == count)
            shown.press(f"echo by$((40 + 2)){columns}\n")
            shown.until(f"by42{columns}")
            shown.resize(columns, lines, tells=False)
            shown.press("fg\n")
            shown.until(lambda width=columns: "kept" in shown.screen and is_as_wide(shown, width))
            shown.press("!")
            shown.until("kept" + "!" * ((80, 111, 60).index(columns) + 1))
        shown.press("\x03\x04")
        # What is typed while a program gives the terminal back is lost, as with any.
        shown.until(lambda: shown.screen.rstrip().endswith("ready>"))
        shown.press("echo over$((40 + 2))\n")
        shown.until("over42")
        shown.press("exit\n")
        shown.ended()


def test_without_a_shell_it_stays(tmp_path: Path) -> None:
    """No shell could resume it: a terminal that was opened for bayou alone, a container."""
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.press("\x1a")
        shown.until("no shell could resume it")
        shown.press("still")
        shown.until("still")
        shown.press("\x03\x04")
        assert shown.ended() == 0
        assert shown.left_behind() == []


LISTENER = """
def extension(api):
    @api.on("session_start")
    def begin(event, context):
        def heard(data):
            if data == "!":
                raise ValueError("no bangs")
            if data == "q":
                context.ui.set_status("heard", "took q")
                return True
            return data.upper() if data == "x" else None

        context.ui.on_terminal_input(heard)
"""


def test_an_extension_hears_what_the_terminal_sends_first(tmp_path: Path) -> None:
    (tmp_path / "listener.py").write_text(LISTENER)
    with terminal(tmp_path, "-e", "listener.py", "help") as shown:
        shown.until("shows this")  # extensions are there
        for key, seen in (
            ("w7", "w7"),
            ("x", "w7X"),
            ("q", "took q"),
            ("z", "w7Xz"),
            ("!", "no bangs"),
            ("x", "w7Xz!x"),
        ):
            shown.press(key)
            shown.until(seen)


def test_another_editor_takes_the_terminal_and_gives_it_back(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\n"
        "answer = input('what? ')\npathlib.Path(sys.argv[1]).write_text(answer.upper())\n"
    )
    editor.chmod(0o755)
    with terminal(tmp_path, env={"VISUAL": str(editor)}) as shown:
        shown.until(PAGE)
        shown.press("\x07")
        shown.until("what?")
        shown.press("afloat\n")
        shown.until("AFLOAT")
        shown.press("!")
        shown.until("AFLOAT!")


def test_errors_go_to_a_file_and_the_page_to_the_terminal(tmp_path: Path) -> None:
    errors = os.open(tmp_path / "errors", os.O_WRONLY | os.O_CREAT)
    with terminal(tmp_path, errors=errors) as shown:
        os.close(errors)
        shown.until(PAGE)
        shown.press("\x04")
        assert shown.ended() == 0
    assert (tmp_path / "errors").read_bytes() == b""


def test_a_locale_without_the_characters_of_the_page(tmp_path: Path) -> None:
    with terminal(
        tmp_path, is_cold=True, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ) as shown:
        shown.until(PAGE)
        shown.until(lambda: is_as_wide(shown, 80))


def test_a_folder_whose_name_is_not_text_works(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xffat"))
    folder.mkdir()
    with terminal(folder) as shown:
        shown.until(PAGE)
        shown.press("list\r")
        shown.until("is empty")
        shown.until_idle()
        shown.press("\x04")
        assert shown.ended() == 0


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, 131)],
)
def test_signals_end_it_with_their_code(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(PAGE)
        shown.process.send_signal(number)
        assert shown.ended() == code
        assert shown.left_behind() == []
        assert "Traceback" not in shown.screen


def test_a_signal_while_it_starts(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        shown.until(lambda: b"\x1b]11;?" in shown.sent)
        shown.process.send_signal(signal.SIGTERM)
        assert shown.ended() == 143
        assert shown.left_behind() == []


def test_a_signal_while_a_tool_runs_ends_the_tool_too(tmp_path: Path) -> None:
    with terminal(tmp_path, "run echo $$ > pid; sleep 600") as shown:
        pid = tmp_path / "pid"
        shown.until(lambda: pid.exists() and pid.read_text().strip() != "")
        shown.process.send_signal(signal.SIGTERM)
        assert shown.ended() == 143
        assert shown.left_behind() == []
    assert is_gone(int(pid.read_text()))


def is_gone(pid: int) -> bool:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)  # there is no notification of the end of another process's child
    return False


@pytest.mark.parametrize(
    ("words", "seen"), [((), PAGE), (("help",), "shows this")], ids=["empty", "to be resumed"]
)
def test_a_terminal_that_goes_away_takes_bayou_with_it(
    words: tuple[str, ...], seen: str, tmp_path: Path
) -> None:
    with terminal(tmp_path, *words) as shown:
        shown.until(seen)
        shown.close_program_pipes()
        assert shown.process.wait(LIMIT) == 129
        assert not list(Path(os.environ["BAYOU_AGENT_DIR"]).glob("crashes/*"))


def test_a_draft_survives_a_kill(tmp_path: Path) -> None:
    with terminal(tmp_path, "help") as first:
        first.until("shows this")
        first.press("a draft that must survive")
        first.until("survive")
        drafts = Path(os.environ["BAYOU_AGENT_DIR"])
        first.until(lambda: any(b"must survive" in path.read_bytes() for path in drafts.rglob("*.draft")))
    with terminal(tmp_path, "-c") as second:
        second.until("a draft that must survive")


FAULTS = {
    "when modules are read": "import sys; sys.modules['app.tui.run'] = None",
    "before the page": "import app.providers.models.catalogue as m;"
    " m.ModelCatalogue.load_catalogue = lambda *a, **k: 1 / 0",
    "in composing": "from app.tui.app import BayouApp as A; A.compose = lambda self: 1 / 0",
    "in mounting": "from app.tui.app import BayouApp as A; A.on_mount = lambda self: 1 / 0",
    "in drawing": "from widgets.editor.prompt_editor import PromptEditor as E; E.render_line = lambda self, y: 1 / 0",
    "after the first paint": "import app.tui.startup as m; m.import_model_modules_in_background = lambda app: 1 / 0",
}
FAULTS_OF_KEYS = {
    "in reading keys": (
        "from widgets.terminal.input_splitter import TerminalInputSplitter as I; feed = I.feed\n"
        "I.feed = lambda self, text: 1 / 0 if chr(15) in text else feed(self, text)"  # not in the terminal's answers
    ),
    "in a key": "from app.tui.app import BayouApp as A; A.action_act = lambda self, name: 1 / 0",
    "in leaving": "from app.tui import run; run.print_closing_message = lambda assembled: 1 / 0",
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_of_ours_leaves_a_report_and_never_a_traceback(fault: str, tmp_path: Path) -> None:
    with faulty(tmp_path, fault) as shown:
        report_of(shown)


@pytest.mark.parametrize("fault", FAULTS_OF_KEYS.values(), ids=FAULTS_OF_KEYS.keys())
def test_so_does_one_that_a_key_brings_out(fault: str, tmp_path: Path) -> None:
    with faulty(tmp_path, fault) as shown:
        shown.until(PAGE)
        shown.press("\x0f\x04")
        report_of(shown)


def faulty(cwd: Path, fault: str) -> AbstractContextManager[Terminal]:
    return terminal(cwd, program=f"{fault}\nimport sys\nfrom app.cli.main import main\nsys.exit(main([]))")


def report_of(shown: Terminal) -> None:
    assert shown.ended() == 70
    assert shown.left_behind() == []
    assert "Traceback" not in shown.screen
    assert "an internal error ended the program" in shown.screen
    reports = list(Path(os.environ["BAYOU_AGENT_DIR"]).glob("crashes/bayou-crash-*.txt"))
    assert len(reports) == 1
    assert "Traceback" in reports[0].read_text()
    assert reports[0].name in shown.screen.replace("\n", "")


def test_the_terminal_knows_its_size_better_than_the_environment(tmp_path: Path) -> None:
    with terminal(tmp_path, env={"COLUMNS": "40", "LINES": "10"}, size=(100, 30)) as shown:
        shown.until(lambda: is_as_wide(shown, 100))
