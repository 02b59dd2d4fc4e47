"""A tool that runs on in the background, in the real program: seen, copied and ended from its panel."""

import base64
import os
import re
from pathlib import Path

from tests.support.terminals import Terminal, terminal


def copied(shown: Terminal) -> list[str]:
    return [base64.b64decode(text).decode() for text in re.findall(rb"\x1b\]52;c;([\w+/=]+)", shown.sent)]


def test_what_takes_long_goes_to_the_background_by_itself(tmp_path: Path) -> None:
    own = Path(os.environ["BAYOU_AGENT_DIR"], "settings.json")
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('{"bash": {"autoBackground": {"thresholdMs": 300}}}')
    with terminal(tmp_path, "run printf 'ti''de %s' high; sleep 600", size=(100, 30)) as shown:
        shown.until("1 job")
        shown.until("in the background, job1")
        shown.press("\x0f\x0f")  # Ctrl+O: the report to the model
        shown.until("It goes on there because it has run for")
        shown.until("tide high")
        shown.press("/jobs\r")
        shown.until("open output")
        shown.press("\x18")
        shown.until("killed")


def test_what_a_job_says_is_copied_from_its_panel(tmp_path: Path) -> None:
    with terminal(tmp_path, "run printf 'ti''de %s' high; sleep 600", size=(100, 30)) as shown:
        shown.until("tide high")
        shown.press("\x02")  # Ctrl+B: into the background
        shown.until("1 job")
        shown.press("/jobs\r")
        shown.until("open output")
        shown.until("tide high")
        shown.press("\x19")  # Ctrl+Y
        shown.until(lambda: copied(shown) == ["tide high"])
        shown.press("\x18")  # Ctrl+X ends it
        shown.until("stopped")
