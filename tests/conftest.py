"""What every test stands on: the same world on every machine, pictures in `snapshots/`, long tests on request."""

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support import garbage, idle, parsed_styles, snapshots

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from textual.app import App

    from tests.support.photographs import Photographs
    from tests.support.screens import Screen
    from tests.support.terminals import KeptTerminal, Terminal

garbage.hold_back()
idle.install()
parsed_styles.install()

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

OUTSIDE = dict(os.environ)
"""The environment that the run was started in, for the few tests that need the person's own (package index)."""

ROOT = Path(__file__).resolve().parents[1]

_FOREIGN_PREFIXES = ("BAYOU_", "PI_", "TEXTUAL_", "XDG_", "GIT_")
_FOREIGN_SUFFIXES = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_ACCESS_TOKEN", "_SECRET_ACCESS_KEY")
_FOREIGN = {
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"),
    "NO_COLOR",
    "FORCE_COLOR",
    "COLORFGBG",
    "EDITOR",
    "VISUAL",
    *("TMUX", "TMUX_PANE", "STY", "TERM_PROGRAM"),
    "SSH_TTY",
    "SSH_CONNECTION",
}
_KEPT = {snapshots.RUN_ID, snapshots.PLUGIN_FOLDER}
_FIXED = {
    # Some tests start bayou in a separate process, which works without an installation.
    "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "app" / "package"))),
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "BAYOU_OFFLINE_PACE": "0",
}

if sys.dont_write_bytecode:
    # Whoever wants no such files among the sources gets none; without any, half of what the run costs is compiling
    # bayou and its libraries anew in each process that a test starts.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = _FIXED["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "pycache")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Gives each test an empty home without the user's settings, keys, colours and time zone."""
    home = _move_into(_homes, monkeypatch)
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("sys.path", list(sys.path))  # an installed extension's folder goes with its test
    time.tzset()
    yield home
    monkeypatch.undo()
    time.tzset()
    garbage.between_tests()


def _move_into(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = homes / str(next(_numbers))
    home.mkdir()
    for name in list(os.environ):
        if _is_foreign(name):
            monkeypatch.delenv(name)
    for name, value in _FIXED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BAYOU_AGENT_DIR", str(home / ".bayou" / "agent"))
    return home


def _is_foreign(name: str) -> bool:
    if name in _KEPT:
        return False
    return name in _FOREIGN or name.startswith(_FOREIGN_PREFIXES) or name.endswith(_FOREIGN_SUFFIXES)


@pytest.fixture(scope="session")
def outside() -> dict[str, str]:
    """The environment that the run was started in."""
    return dict(OUTSIDE)


@pytest.fixture(scope="session")
def _kept_terminal(_homes: Path) -> "Iterator[KeptTerminal]":
    from tests.support.terminals import KeptTerminal

    with pytest.MonkeyPatch.context() as patch:
        home = _move_into(_homes, patch)
        kept = KeptTerminal(home, dict(os.environ))
    yield kept
    kept.close()


@pytest.fixture
def shared_terminal(_kept_terminal: "KeptTerminal") -> "Terminal":
    """bayou on its page in a terminal of 80x24, with nothing written. It was started once for many tests: for those
    that are not about starting, ending, settings, or what was said."""
    return _kept_terminal.opened()


@pytest.fixture
def screen(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> "Screen":
    """bayou's screen, ready to be photographed: see `tests.support.screens`."""
    from tests.support.screens import Screen  # Textual and the whole program: only for tests that ask for it

    return Screen(own_home, monkeypatch)


@pytest.fixture
def snapshot(snapshot: "SnapshotAssertion") -> "SnapshotAssertion":
    """All that is compared with what is stored is a picture."""
    return snapshots.assertion(snapshot)


@pytest.fixture
def pictures(snapshot: "SnapshotAssertion", request: pytest.FixtureRequest) -> snapshots.Pictures:
    return snapshots.Pictures(snapshot, request.node, snapshots.this_run())


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool], pictures: snapshots.Pictures) -> Callable[..., bool]:
    """The picture plugin photographs an application and compares; what differs is kept for the review."""

    def compare(app: "App[Any]", **how: Any) -> bool:
        return pictures.noted(snap_compare(app, **how))

    return compare


@pytest.fixture(params=["dark", "light"])
def photographs(pictures: snapshots.Pictures, request: pytest.FixtureRequest) -> "Photographs":
    """Many pictures of one running application: see `tests.support.photographs`."""
    from tests.support.photographs import Photographs

    return Photographs(pictures, f"bayou-{request.param}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A tour tells all that differs at its end, and fails as a test does."""
    result = yield
    album: Any = pyfuncitem.funcargs.get("photographs")
    if album is not None and album.different:
        pytest.fail(f"These pictures differ: {', '.join(album.different)}", pytrace=False)
    return result


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    os.environ[snapshots.RUN_ID] = f"{time.time_ns():x}-{os.getpid()}"
    if config.getoption("--snapshot-update", False) and _is_everything(config):
        raise pytest.UsageError(
            "--snapshot-update takes whatever the tests make, so name the test whose pictures you looked at: "
            "pytest TEST --snapshot-update. Pictures of the last run are taken without running: "
            "python -m tests.review accept NAME."
        )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        snapshots.forget_report()


def _is_everything(config: pytest.Config) -> bool:
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return True
    named = [(config.invocation_params.dir / argument.split("::")[0]).resolve() for argument in config.args]
    return any(path in (ROOT, ROOT / "tests") for path in named)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    asked_for = bool(OUTSIDE.get("BAYOU_LONG"))
    skipped = {
        "long": (asked_for, "many repetitions: set BAYOU_LONG=1 to run it"),
        "installs": (asked_for or bool(OUTSIDE.get("CI")), "installs packages: set CI=true to run it"),
    }
    for item in items:
        for marker, (is_wanted, reason) in skipped.items():
            if item.get_closest_marker(marker) and not is_wanted:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    garbage.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto` starts two more than there are cores, because a third of a worker's time goes by waiting for other
    processes."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return cores + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker has files that lie side by side, so that what a file's tests share is made once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    snapshots.this_run().end()
    if snapshots.this_run().has_differences:
        from tests.review.__main__ import page_of_red_run

        for line in page_of_red_run(ROOT):
            terminalreporter.write_line(line)
