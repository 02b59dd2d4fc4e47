"""An internal error: a report file with the traceback, and a line that says where it is. Nobody sees a traceback."""

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

EXIT_CRASHED = 70


def write_crash_report(folder: Path, error: BaseException) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = folder / f"crash-{stamp}-{os.getpid()}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as problem:
        sys.stderr.write(f"bayou: no crash report could be written to {path}: {problem}\n")
    return path


def tell_of_crash(report: Path) -> int:
    """Says where the report is; returns the exit code."""
    sys.stderr.write(f"bayou: an internal error ended the program; the session is safe. Report: {report}\n")
    return EXIT_CRASHED
