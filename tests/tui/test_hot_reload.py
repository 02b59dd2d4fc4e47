"""Files that are changed while the real program runs: its keys and themes follow, and what is broken is named."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminals import Terminal, terminal

PAGE = "Ask anything"
COLORS = {"accent": "#ffaa00", "success": "#00ff00", "error": "#ff8888", "warning": "#ffff00"}


def own_file(name: str, content: object) -> Path:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Terminal]:
    with terminal(tmp_path, size=(100, 30)) as opened:
        opened.until(PAGE)
        yield opened


def choose_a_model(shown: Terminal) -> None:
    """With F9, and away again."""
    shown.press("\x1b[20~")
    shown.until("$ per 1M, in/out")
    shown.press("\x1b")
    shown.until(lambda: "FULL" in shown.screen and "$ per 1M, in/out" not in shown.screen)


def test_keys_are_others_with_the_next_key_behind_the_change(shown: Terminal) -> None:
    own_file("keybindings.json", {"app.model.select": "f9", "app.palette": []})
    choose_a_model(shown)
    shown.until("Your keys were reloaded.")
    shown.press("\x0b")  # Ctrl+K opened the palette, and is unbound now
    shown.press("still typing")
    shown.until("still typing")
    assert "Actions" not in shown.screen
    own_file("keybindings.json", {})
    shown.press("\x15\x0b")
    shown.until("Choose a model")


def test_a_file_that_breaks_is_named_and_the_keys_stay_as_they_were(shown: Terminal) -> None:
    own_file("keybindings.json", {"app.model.select": "f9"})
    choose_a_model(shown)
    own_file("keybindings.json", '{\n  "app.model.select": "f9",\n  app.palette: []\n}')
    shown.press("x")
    shown.until("keybindings.json:3")
    shown.until("The previous keys stay in use.")
    choose_a_model(shown)


def test_conflicting_and_unknown_keys_are_reported(shown: Terminal) -> None:
    own_file("keybindings.json", {"app.model.select": "ctrl+t", "app.modle": "f9"})
    shown.press("x")
    shown.until("ctrl+t is assigned to both")
    shown.until("unknown action 'app.modle'")


def test_a_leader_key_says_how_it_goes_on(shown: Terminal) -> None:
    own_file("keybindings.json", {"app.model.select": "ctrl+x m", "app.session.tree": "ctrl+x t"})
    shown.press("\x18")
    shown.until("ctrl+x … · m Choose a model · t The session tree")
    shown.press("m")
    shown.until("$ per 1M, in/out")


def wear(shown: Terminal, name: str, color: str) -> None:
    shown.press(f"/theme {name}\r")
    until_color(shown, color)


def until_color(shown: Terminal, color: str) -> None:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    already = len(shown.sent)
    shown.until(lambda: f"38;2;{red};{green};{blue}".encode() in shown.sent[already:])


def test_a_theme_is_found_while_it_runs_and_followed_from_then_on(shown: Terminal) -> None:
    own_file("themes/mine.json", {"name": "mine", "colors": COLORS})
    wear(shown, "mine", "#ffaa00")
    own_file("themes/mine.json", {"name": "mine", "colors": COLORS | {"accent": "#5fd7ff"}})
    until_color(shown, "#5fd7ff")
    own_file("themes/mine.json", {"name": "mine", "colors": COLORS | {"accent": "sea"}})
    shown.until("mine.json: accent")
    shown.press("/theme mine\r")
    shown.until("cannot be used")
    own_file("themes/mine.json", {"name": "mine", "colors": COLORS | {"accent": "#5fafff"}})
    until_color(shown, "#5fafff")


def test_a_theme_with_rules_is_followed_too(shown: Terminal) -> None:
    colors = "".join(f"${name}: {value};\n" for name, value in COLORS.items())
    own_file("themes/mine.tcss", colors)
    wear(shown, "mine", "#ffaa00")
    own_file("themes/mine.tcss", colors + "#header { display: none; }\n")
    shown.until(lambda: "offline guide" not in shown.screen.splitlines()[0])
    own_file("themes/mine.tcss", colors + "#header { dispaly: none; }\n")
    shown.until("dispaly")
    own_file("themes/mine.tcss", colors.replace("#ffaa00", "#87d7ff"))
    until_color(shown, "#87d7ff")
    shown.until(lambda: "offline guide" in shown.screen.splitlines()[0])
