"""A tool that runs on in the background, in the real program: seen, copied and ended from its panel."""

import base64
import re
from pathlib import Path

from tests.support.terminals import Terminal, terminal


def copied(shown: Terminal) -> list[str]:
    return [base64.b64decode(text).decode() for text in re.findall(rb"\x1b\]52;c;([\w+/=]+)", shown.sent)]


def test_what_a_job_says_is_copied_from_its_panel(tmp_path: Path) -> None:
    with terminal(tmp_path, "run printf 'ti''de %s' high; sleep 600", size=(100, 30)) as shown:
        shown.until("tide high")
        shown.press("\x02")  # Ctrl+B: into the background
        shown.until("1 job")
        shown.press("/jobs\r")
        shown.until("─ Jobs")
        shown.until("tide high")
        shown.press("\x19")  # Ctrl+Y
        shown.until(lambda: copied(shown) == ["tide high"])
        shown.press("\x18")  # Ctrl+X ends it
        shown.until("killed")
