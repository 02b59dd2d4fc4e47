"""Reports an internal error: writes the traceback to a file, and prints one line with its path instead of the
traceback."""

import os
import platform
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from app.exit_codes import CRASHED
from app.printing import print_problem
from app.version import VERSION
from tools.files.private_folders import fallback_temporary_folder


class CrashReport(NamedTuple):
    """An internal error and the path of its report."""

    error: BaseException
    report: Path | None
    """The path of the crash report; None: it could not be written."""


def report_crash(folder: Path, error: BaseException) -> CrashReport:
    """Writes a crash report to bayou's own folder of reports, else to a private folder among temporary files."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    text = f"{_system_description()}\n\n{''.join(traceback.format_exception(error))}"
    for find in (lambda: folder, fallback_temporary_folder):
        try:
            place = find()
            place.mkdir(parents=True, exist_ok=True)
            path = place / f"bayou-crash-{stamp}-{os.getpid()}.txt"
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return CrashReport(error, path)
    return CrashReport(error, None)


def _system_description() -> str:
    """Describes the operating system, Python and bayou versions for a crash report. Settings and environment are
    left out: they hold secrets."""
    return f"bayou {VERSION}, Python {platform.python_version()}, {platform.platform()}"


def print_crash_report(crash: CrashReport) -> int:
    """Prints the internal error and the crash report's path; returns the exit code."""
    what = " ".join(f"{type(crash.error).__name__}: {crash.error}".split())[:200]
    where = f"Crash report: {crash.report}" if crash.report else "The crash report could not be written."
    print_problem(f"an internal error ended the program ({what}); the session is saved. {where}")
    return CRASHED
