"""Measures whole processes from outside: wall and CPU time, memory, a program in a
pseudo-terminal."""

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
_START_PROGRAM = (
    f"import sys; sys.path.insert(0, {str(ROOT / 'app' / 'package')!r}); "
    "from bayou.__main__ import main; sys.exit(main())"
)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, and the peak memory in bytes."""

    wall: float
    cpu: float
    peak: int = 0


def bayou_command(*words: str) -> list[str]:
    """Returns the command line: the installed command next to this Python, or else the checkout."""
    installed = Path(sys.executable).with_name("bayou")
    return (
        [str(installed), *words]
        if installed.exists()
        else [sys.executable, "-P", "-c", _START_PROGRAM, *words]
    )


def python_command(program: str) -> list[str]:
    return [sys.executable, "-P", "-c", program]


@contextmanager
def temporary_home() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yields an empty project, and an environment with an empty home and without the user's
    variables."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        project = home / "project"
        project.mkdir()
        env = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "BAYOU_OFFLINE_PACE": "0",
        }
        yield project, env


def run(command: Sequence[str], cwd: Path, env: dict[str, str]) -> Cost:
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[-3:]} failed: {complaint.decode(errors='replace')[-500:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss * unit)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        wall=statistics.median(cost.wall for cost in costs),
        cpu=statistics.median(cost.cpu for cost in costs),
        peak=statistics.median_low([cost.peak for cost in costs]),
    )


class Terminal:
    """A program in a pseudo-terminal, whose output is read completely."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str], size: tuple[int, int]) -> None:
        self.drawn = b""
        self.started = time.perf_counter()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, text: bytes, timeout: float = 30) -> float:
        """Waits until `text` was drawn; returns the seconds since the start."""
        while text not in self.drawn:
            if not self._read(self.started + timeout - time.perf_counter()):
                raise RuntimeError(f"{text!r} was not drawn in {timeout} s. Drawn: {self.drawn[-800:]!r}")
        return time.perf_counter() - self.started

    def wait_until_quiet(self, seconds: float = 1.0) -> None:
        """Waits until nothing was drawn for `seconds`."""
        while self._read(seconds):
            pass

    def wait_for_more(self, timeout: float = 10) -> None:
        """Waits until something was drawn."""
        if not self._read(timeout):
            raise RuntimeError(f"nothing was drawn in {timeout} s")

    def read_for(self, seconds: float) -> int:
        """Reads for some seconds; returns the bytes drawn."""
        before, end = len(self.drawn), time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read(left)
        return len(self.drawn) - before

    def write(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        while self._process.poll() is None and self._read(5):
            pass
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def _read(self, timeout: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0, timeout))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False  # the program has ended
        self.drawn += data
        return bool(data)


def resident_bytes(pid: int) -> int:
    output = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(output.stdout) * 1024


def proportional_bytes(pid: int) -> int:
    """Returns the memory with shared pages counted in proportion; resident memory where that is
    unavailable."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return resident_bytes(pid)
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of all threads so far, in nanoseconds where available."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waited_seconds(pid: int) -> float:
    """Returns how long its threads were ready but had no processor, where available."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[1]) for thread in threads) / 1e9
    except OSError:
        return 0.0
