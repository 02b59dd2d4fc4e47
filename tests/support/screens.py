"""bayou's screen, ready to be photographed: the same picture on every machine and in every run.

    def test_a_printed_answer(screen, snap_compare):
        app = screen.app(script=ScriptedModel([say("Hello.")]))
        assert snap_compare(app, terminal_size=WIDE, run_before=screen.say("hi"))

Fixed are: clock, ids, theme, size, the project's place (`~/project`) and what is in it; nothing blinks or spins.
Where the pictures are stored is `tests.support.snapshots`' business.
"""

import itertools
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.pilot import Pilot

from app.assembly.assembled_session import AssembledSession
from app.assembly.session_builder import assemble_session
from app.cli.option_parsing import parse_command_line_options
from app.engine import context_breakdown
from app.engine.session import Session
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedModel
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.tui.app import BayouApp
from app.tui.startup import TuiStartOptions, make_extension_loader
from app.values.usage import Usage
from app.values.wire import new_id
from tests.support import idle
from tests.support.clock import Clock

WIDE = (100, 30)
CLASSIC = (80, 24)
SIZES = {"100x30": WIDE, "80x24": CLASSIC}

FIXED_SECONDS = 1_000.0
"""The time that the fake clock shows."""

FILES = {
    "README.md": "# Boats\n\nA small harbour, in Python.\n",
    "pyproject.toml": '[project]\nname = "boats"\nversion = "1.2.0"\n',
    "boats/__init__.py": "",
    "boats/fleet.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Boat:\n    name: str\n    oars: int = 2\n\n\n"
        "def launch(boat: Boat) -> str:\n    return f'{boat.name} is afloat'\n"
    ),
}
"""The files of the project in the pictures."""

Step = Callable[[Pilot[int]], Awaitable[None]]


_PROMPT_PARTS = context_breakdown._prompt_parts
_HOME = "/home/".ljust(49, "x")
"""Where the home is for the counts of tokens: as long on every machine."""


class Screen:
    """Opens bayou on a project of a few files, and drives it."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.project = home / "project"
        for name, text in FILES.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        # Ids as long as real ones, and the same in each run.
        ids = map("{:08x}".format, itertools.count(0x5EED0000))
        for module in list(sys.modules.values()):
            if getattr(module, "new_id", None) is new_id:
                monkeypatch.setattr(module, "new_id", ids.__next__)
        # A slow tool or helper would show its duration on a busy machine.
        for module in (
            "app.agent.call_batch",
            "app.agent.response_events",
            "app.engine.helpers.helper_run",
            "app.engine.helpers.helper_table",
        ):
            monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: FIXED_SECONDS))
        for usage in (
            "app.providers.offline.guide.estimate_prompt_usage",
            "app.providers.scripted.ScriptedModel.usage",
        ):
            monkeypatch.setattr(usage, _usage)
        # The same path on every machine, because its length counts among the tokens of the context.
        monkeypatch.setattr("app.assembly.prompt_and_themes.docs_dir", lambda: Path("/usr/share/bayou/docs"))
        monkeypatch.setattr(context_breakdown, "_prompt_parts", self._prompt_parts)
        monkeypatch.chdir(self.project)

    def _prompt_parts(self, session: Session) -> Iterator[tuple[context_breakdown.BreakdownGroup, str, str]]:
        for group, title, text in _PROMPT_PARTS(session):
            yield group, title, text.replace(str(self.home), _HOME)

    def app(
        self,
        *words: str,
        script: ScriptedModel | None = None,
        theme: str = "bayou-dark",
        is_kept: bool = False,
        has_extensions: bool = False,
    ) -> BayouApp:
        """Returns bayou as `bayou WORDS` would open it; with `script`, that model answers.

        `is_kept`: the session has a file. `has_extensions`: extensions are loaded, and the trust
        question is asked. With `--permissions` among the words the footer shows the mode."""
        kept = [] if is_kept else ["--no-session"]
        unasked = [] if "--permissions" in words else ["--permissions", "full"]
        options = parse_command_line_options([*kept, "--use-theme", theme, *unasked, *words])
        paths = BayouPaths.from_env(os.environ, self.project)
        assembled = assemble_session(options, paths, can_ask=is_kept or has_extensions or not unasked)
        if script is not None:
            _answer_with(script, assembled)

        app = BayouApp(
            assembled,
            opening=TuiStartOptions(
                load_extensions=make_extension_loader(assembled, options, paths) if has_extensions else None
            ),
            home=self.home,
            clock=Clock(FIXED_SECONDS),
            css_path=sorted(shipped_styles_dir().glob("*.tcss")),
        )
        app.animation_level = "none"
        return app

    @staticmethod
    def say(*prompts: str) -> Step:
        """Sends each prompt and waits until the agent has nothing more to do."""

        async def step(pilot: Pilot[int]) -> None:
            app = bayou_of(pilot)
            for prompt in prompts:
                await app.session.prompt(prompt)
                await app.session.wait_until_idle()
                await settled(pilot)

        return step

    @staticmethod
    def until(shown: str) -> Step:
        """Waits until the screen shows a text."""

        async def step(pilot: Pilot[int]) -> None:
            while shown not in text_of(bayou_of(pilot)):
                await pilot.pause()

        return step


def bayou_of(pilot: Pilot[int]) -> BayouApp:
    assert isinstance(pilot.app, BayouApp)
    return pilot.app


async def settled(pilot: Pilot[int]) -> None:
    """Waits until the screen stops changing."""
    before = ""
    while (now := text_of(bayou_of(pilot))) != before:
        before = now
        await pilot.pause()


def text_of(app: BayouApp) -> str:
    """Returns the screen as plain text: a good second assertion, because a picture only says that it
    differs."""
    return idle.text_of(app.screen)


def _usage(*arguments: object) -> Usage:
    """Returns fixed token counts, because the real prompt contains the project's path, whose length
    varies."""
    context = arguments[-1]
    assert isinstance(context, RequestContext)
    tokens = 1_000 * len(context.messages)
    return Usage(input=tokens, total_tokens=tokens)


def _answer_with(script: ScriptedModel, assembled: AssembledSession) -> None:
    model = script.register(assembled.registry)
    assembled.model_choice.set_model(model)
