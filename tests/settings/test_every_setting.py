"""Each setting has a reader: two values of it are not the same thing. Those of a running session act at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.cli.list_models import list_models
from app.providers.scripted import ScriptedModel
from app.resources.settings.settings import all_setting_keys
from tests.compaction.project_session import ProjectSession
from tests.settings.cases import Case, in_file
from tests.settings.diagnostic_cases import LIVE as WITH_DIAGNOSTICS
from tests.settings.edit_cases import LIVE as WITH_EDITS
from tests.settings.in_sessions import LIVE, SLOW_EXTENSION
from tests.settings.of_maps import OF_MAPS
from tests.settings.of_undo import OF_UNDO, TREE_MOVES
from tests.settings.on_screen import ON_SCREEN, Seat
from tests.settings.permission_cases import LIVE as WITH_PERMISSIONS
from tests.settings.sandbox_cases import LIVE as WITH_SANDBOX
from tests.settings.secret_cases import LIVE as WITH_SECRETS
from tests.settings.server_cases import LIVE as WITH_SERVERS
from tests.support.terminals import Terminal, terminal
from tests.tui.scripted_app import ScriptedApp, make_app

MODELS = {
    name: {
        "baseUrl": f"http://{name}.test",
        "api": "openai-completions",
        "apiKey": "k",
        "models": [{"id": "m", "reasoning": True, "contextWindow": 100_000}],
    }
    for name in ("one", "two")
}
assert (
    WITH_DIAGNOSTICS is WITH_EDITS is WITH_PERMISSIONS is WITH_SANDBOX is WITH_SECRETS is WITH_SERVERS is LIVE
)
AT_START: dict[str, tuple[Any, Any]] = {
    "defaultProvider": ("one", "two"),
    "defaultModel": ("one/m", "two/m"),
    "defaultThinkingLevel": ("low", "high"),
    "enabledModels": (["one/m"], ["two/m"]),
    "defaultTools": (["read"], ["bash"]),
    "defaultProjectTrust": ("always", "never"),
    "extensions": ([], ["~/more/mine.py"]),
    "extensionLimits.loadTimeoutMs": (10_000, 20),
    "skills": ([], ["~/more/skills"]),
    "prompts": ([], ["~/more/prompts"]),
    "themes": ([], ["~/more/themes"]),
}
"""What a session begins with, by two values."""
IN_A_TERMINAL: dict[str, tuple[Any, Any, str]] = {
    "terminal.launchFrame": (True, False, r"\x1b\[\?1049h(?s:.)*Ask anything(?s:.)*\x1b\[\?1000h"),
    "terminal.mouse": (True, False, r"\x1b\[\?1000h"),
    "terminal.plainMarks": (False, True, "✓"),
    "terminal.scrollRegions": (True, False, r"\x1b\[\d+;\d+r"),
    "terminal.trueColor": ("on", "off", ";2;"),
}
"""What the full screen begins with, by two values, and what is then sent or is not."""


def scene_in(home: Path, values: dict[str, Any]) -> ProjectSession:
    made = ProjectSession(home)
    made.settings(in_file(values))
    made.write("~/.bayou/agent/models.json", json.dumps({"providers": MODELS}))
    made.write("~/.bayou/agent/skills/knots/SKILL.md", "---\nname: knots\ndescription: Ties.\n---\nTie.\n")
    made.write("~/.bayou/agent/extensions/slow.py", SLOW_EXTENSION)
    made.write(".bayou/rules/anchor.md", "---\nalwaysApply: true\n---\nAnchor twice.\n")
    made.write(".cursor/rules/cast.mdc", "---\nalwaysApply: true\n---\nCast off once.\n")
    made.write(".bayou/rules/words.md", "---\ncondition: FORBIDDEN\n---\nNot that word.\n")
    return made


def test_each_setting_has_a_case():
    cases = [case.name for case in (*LIVE, *OF_MAPS, *OF_UNDO, *ON_SCREEN, *TREE_MOVES)]
    cases += [
        *AT_START,
        *IN_A_TERMINAL,
        "offline",
        "acp.queue",
    ]  # the last: in tests/acp/test_capabilities.py
    assert sorted(cases) == sorted(key.name for key in all_setting_keys()), (
        "what has no reader leaves the settings"
    )


@pytest.mark.parametrize("case", [*LIVE, *OF_MAPS, *OF_UNDO], ids=lambda case: case.name)
async def test_it_acts_at_once_in_a_session(case: Case, tmp_path: Path) -> None:
    scene = await scene_in(tmp_path, {**case.base, case.name: case.one}).open()
    seen = [await case.look(scene)]
    scene.settings(in_file({**case.base, case.name: case.other}))
    scene.session.settings.reload_if_changed()
    seen.append(await case.look(scene))
    await scene.session.close()
    assert seen[0] != seen[1]


@pytest.mark.parametrize("case", [*ON_SCREEN, *TREE_MOVES], ids=lambda case: case.name)
async def test_it_acts_at_once_on_the_page(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(
        "app.tui.terminal.terminal_parts.write_through_driver", lambda app, sequence: written.append(sequence)
    )
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "full")
    app = page_in(tmp_path, {**case.base, case.name: case.one})
    async with app.run_test(size=(100, 40)) as pilot:
        await app.is_ready.wait()
        seat = Seat(app, pilot, written)
        seen = [await case.look(seat)]
        seat.set(case.name, case.other)
        await pilot.pause()
        seen.append(await case.look(seat))
    assert seen[0] != seen[1]


def page_in(home: Path, values: dict[str, Any]) -> ScriptedApp:
    file = home / ".bayou" / "agent" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(in_file(values)))
    app = make_app(home, options=CommandLineOptions(no_session=True))
    script = ScriptedModel([])
    app.assembled.model_choice.set_model(script.register(app.assembled.registry))
    app.script_of_test = script  # pyright: ignore[reportAttributeAccessIssue]
    return app


@pytest.mark.parametrize("name", AT_START)
async def test_a_session_begins_with_it(name: str, tmp_path: Path) -> None:
    seen = []
    for number, value in enumerate(AT_START[name]):
        base = {"defaultModel": "m"} if name == "defaultProvider" else {"defaultModel": "one/m"}
        scene = scene_in(tmp_path / str(number), {**base, name: value})
        scene.write("~/more/mine.py", "def extension(api):\n    import time\n    time.sleep(0.1)\n")
        scene.write("~/more/skills/sails/SKILL.md", "---\nname: sails\ndescription: Sets.\n---\nSet.\n")
        scene.write("~/more/prompts/reef.md", "Reef.\n")
        scene.write("~/more/themes/sea.json", '{"name": "sea", "colors": {}}')
        if name == "extensionLimits.loadTimeoutMs":
            scene.write(
                "~/.bayou/agent/extensions/mine.py",
                "import time\ntime.sleep(0.1)\ndef extension(api): pass\n",
            )
            await scene.open()
            seen.append([status.problems != () for status in loaded(scene)])
            continue
        begun = assemble_session(CommandLineOptions(), scene.paths, {})
        seen.append(beginning(begun))
    assert seen[0] != seen[1]


def loaded(scene: ProjectSession) -> Any:
    return scene.extended.extensions.status()  # pyright: ignore[reportAttributeAccessIssue]


def beginning(begun: AssembledSession) -> Any:
    state, chosen = begun.session.state, begun.chosen_extensions
    return (
        state.model and state.model.key,
        state.thinking,
        [model.key for model in state.cycle_models],
        list(begun.session.tools.active_tools()),
        begun.project_trust.decision.is_trusted,
        [source.name for source in chosen.sources],
        [len(chosen.skills), len(chosen.prompts), len(chosen.themes)],
    )


def test_offline_asks_no_server_for_its_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for number, is_offline in enumerate((False, True)):
        scene = ProjectSession(tmp_path / str(number))
        silent = {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "k"}
        scene.write("~/.bayou/agent/models.json", json.dumps({"providers": {"own": silent}}))
        scene.settings({"offline": is_offline})
        list_models(scene.paths, "", is_offline=False)
        told.append(capsys.readouterr().err)
        list_models(scene.paths, "", is_offline=True)
        assert "own" not in capsys.readouterr().err, "the flag says the same"
    assert "own" in told[0] and "own" not in told[1]


@pytest.mark.parametrize("name", IN_A_TERMINAL)
def test_the_full_screen_begins_with_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, sent = IN_A_TERMINAL[name]
    seen = []
    for value in (one, other):
        agent = tmp_path / str(value)
        agent.mkdir()
        (agent / "settings.json").write_text(json.dumps(in_file({name: value})))
        env = {"BAYOU_AGENT_DIR": str(agent)}
        if name == "terminal.launchFrame":  # the next start has it
            with terminal(tmp_path, env=env) as shown:
                kept = agent / "cache" / ("launch/80x24" if value else "styles")
                shown.until(kept.exists)
        with terminal(tmp_path, env=env) as shown:
            shown.until("Ask anything")
            if name == "terminal.launchFrame":
                shown.until("guide")
            if name == "terminal.plainMarks":
                shown.press("✓")
                shown.until(lambda: any(mark in shown.screen for mark in "✓√"))
            if name == "terminal.scrollRegions":
                scroll(shown)
            seen.append(re.search(sent.encode(), shown.sent) is not None)
    assert seen == [True, False]


def scroll(shown: Terminal) -> None:
    """With the wheel, in more lines than there is room for."""
    for step in ("1 of 5", "2 of 5", "3 of 5", "4 of 5"):
        shown.press("tour\r")
        shown.until(step)
        shown.until(lambda: "esc stop" not in shown.screen)
    before = shown.screen.splitlines()[2:8]
    shown.press("\x1b[<64;40;10M")
    shown.until(lambda: shown.screen.splitlines()[2:8] != before)
