"""A question of the agent in the real program, on a small and on a large terminal."""

import json
import time
from pathlib import Path

import pytest

from tests.modes.processes import CALLS
from tests.support.terminals import terminal

QUESTION = {"question": "Which oar is to be mended?", "options": [{"label": "left"}, {"label": "right"}]}


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_a_question_is_answered_in_own_words(tmp_path: Path, size: tuple[int, int]) -> None:
    prompt = json.dumps([("ask", {"questions": [QUESTION]})])
    with terminal(tmp_path, "-e", CALLS, prompt, size=size) as shown:
        shown.until("Which oar is to be mended?")
        shown.until("3 Other answer…")
        armed = time.monotonic() + 1.0  # until then keys are meant for the editor
        shown.until(lambda: time.monotonic() > armed)
        shown.press("3")
        shown.until(lambda: "3 Other answer…" not in shown.screen)
        shown.press("both of them\r")
        shown.until("ask Which oar is to be mended? → both of them")
        shown.until("Done.")
