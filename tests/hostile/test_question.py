"""The question is not answered by accident and hides nothing."""

from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from app.resources.trust.project_trust import trust_question_for
from app.tui.features.extensions.feature import TRUST_FEATURE
from app.tui.features.extensions.trust_screen import TRUST_KEY_GRACE_SECONDS, ProjectTrustScreen
from tests.hostile.conftest import Put
from tests.support.terminals import terminal
from tests.tui.scripted_app import accept_trust, make_app
from tools.text_sanitizing import reveal_hidden_characters
from widgets.lists.list_rows import ListRow
from widgets.screens.preview_pane import PreviewParagraph, PreviewText

HIDDEN = {
    "a right-to-left override": "touch \u202egnihtyna",
    "an invisible letter": "touch\u3164x",
    "a joiner of no width": "touch\u200bx",
    "a soft hyphen": "touch\u00adx",
    "a tag character": "touch\U000e0041x",
    "an escape sequence": "touch \x1b[8mx",
}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stage(App[Any]):
    """The question alone, and the answer that was given."""

    def __init__(self, text: str, clock: Clock, yes: ListRow | None) -> None:
        super().__init__()
        self.answer: ListRow | str | None = "none yet"
        parts = tuple(PreviewParagraph(text=line) for line in text.split("\n"))
        answers = (ListRow(id="later", title="Later"), ListRow(id="no", title="No"))
        self.question = ProjectTrustScreen(
            "Trust?", PreviewText(parts=parts), answers, yes=yes, grace=0.3, clock=clock
        )

    async def on_mount(self) -> None:
        def take(answer: ListRow | None) -> None:
            self.answer = answer

        await self.push_screen(self.question, take)


YES = ListRow(id="yes", title="Yes")


async def test_typing_enter_and_numbers_never_say_yes() -> None:
    """Typing ahead and habitual answers decide nothing."""
    for keys in (["enter"], ["y"], ["y", "e", "s", "enter"], ["1"], ["t"], ["space"]):
        clock = Clock()
        app = Stage("it brings something", clock, YES)
        async with app.run_test() as pilot:
            await pilot.press(*keys)
            clock.now += 10
            await pilot.press(*keys)
            assert app.answer in ("none yet", ListRow(id="later", title="Later")), keys


async def test_the_key_for_yes_counts_after_a_pause() -> None:
    clock = Clock()
    app = Stage("it brings something", clock, YES)
    async with app.run_test() as pilot:
        await pilot.press("ctrl+y")
        clock.now += TRUST_KEY_GRACE_SECONDS / 2
        await pilot.press("ctrl+y")
        assert app.answer == "none yet"
        clock.now += TRUST_KEY_GRACE_SECONDS
        await pilot.press("ctrl+y")
        assert app.answer == YES


async def test_enter_on_the_answer_that_trusts_counts_after_a_pause() -> None:
    clock = Clock()
    app = Stage("it brings something", clock, YES)
    async with app.run_test() as pilot:
        clock.now += 10
        await pilot.press("1", "enter")
        assert app.answer == "none yet"
        clock.now += TRUST_KEY_GRACE_SECONDS + 0.1
        await pilot.press("enter")
        assert app.answer == YES


async def test_a_click_on_the_answer_that_trusts_does_not_trust() -> None:
    clock = Clock()
    app = Stage("it brings something", clock, YES)
    async with app.run_test() as pilot:
        clock.now += 10
        await pilot.click("#rows", offset=(6, 0))
        assert app.answer == "none yet"


async def test_escape_is_heard_at_once() -> None:
    app = Stage("it brings something", Clock(), YES)
    async with app.run_test() as pilot:
        await pilot.press("escape")
        await pilot.pause()
        assert app.answer is None


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_end_must_have_been_in_sight(size: tuple[int, int]) -> None:
    """What would run cannot be put below two hundred harmless lines."""
    clock = Clock()
    app = Stage("\n".join(f"harmless {number}" for number in range(200)) + "\nevil", clock, YES)
    async with app.run_test(size=size) as pilot:
        clock.now += 10
        await pilot.press("ctrl+y")
        assert app.answer == "none yet"
        await _to_the_end(pilot, app)
        clock.now += 10
        await pilot.press("ctrl+y")
        assert app.answer == YES


async def _to_the_end(pilot: Pilot[Any], app: Stage) -> None:
    while not app.question.has_seen_end:
        await pilot.press("pagedown")
        await pilot.pause()


async def test_unverifiable_settings_cannot_be_trusted() -> None:
    clock = Clock()
    app = Stage("too much", clock, None)
    async with app.run_test() as pilot:
        clock.now += 10
        await pilot.press("ctrl+y")
        assert app.answer == "none yet"


@pytest.mark.parametrize("how", HIDDEN)
def test_what_hides_is_spelled_out(how: str) -> None:
    told = reveal_hidden_characters(HIDDEN[how])
    assert "<U+" in told
    assert told.isprintable()


def test_blanks_do_not_push_anything_out_of_sight(paths: Any, put: Put) -> None:
    put(paths.project_settings_file, '{"shellCommandPrefix": "true;' + " " * 5000 + 'touch /tmp/x;"}')
    (told,) = [item.display_text for item in trust_question_for(paths).items if item.kind == "command"]
    assert told == 'shellCommandPrefix = "true;<5000 blanks>touch /tmp/x;"'


def test_an_unreadably_long_value_cannot_be_trusted(paths: Any, put: Put) -> None:
    put(paths.project_settings_file, '{"shellCommandPrefix": "' + "x=1;" * 5000 + 'touch /tmp/x;"}')
    assert trust_question_for(paths).exceeded_limit


def test_everything_that_leads_somewhere_is_listed(paths: Any, put: Put) -> None:
    put(
        paths.project_settings_file,
        '{"externalEditor": "./edit", "sessionDir": "/tmp/theirs", "shellPath": "./sh", "theme": "nord"}',
    )
    put(
        paths.project_dir / "models.json",
        '{"providers": {"p": {"baseUrl": "https://example.org/v1", "apiKey": "!cat ~/.ssh/id"}}}',
    )
    told = [item.display_text for item in trust_question_for(paths).items]
    assert 'externalEditor = "./edit"' in told
    assert 'sessionDir = "/tmp/theirs"' in told
    assert 'theme = "nord"' in told
    assert "!cat ~/.ssh/id; https://example.org/v1" in told
    kinds = {item.display_text.split(" = ")[0]: item.kind for item in trust_question_for(paths).items}
    assert kinds["externalEditor"] == kinds["sessionDir"] == kinds["shellPath"] == "command"


def test_long_values_are_shown_to_their_last_character(folder: Path, put: Put) -> None:
    """In the real program, at 80x24: what used to be cut behind 400 characters."""
    value = "true " + " ".join(f"x{number}" for number in range(300)) + "; touch THE-END;"
    put(folder / ".bayou" / "settings.json", f'{{"shellCommandPrefix": "{value}"}}')
    with terminal(folder) as page:
        page.until("Trust this project?")
        for _ in range(10):
            page.press("\x1b[6~")
        page.until("touch THE-END;")
        page.press("\x1b")
        page.until(lambda: "Trust this project?" not in page.screen)


async def test_what_changes_while_it_is_read_is_not_trusted(tmp_path: Path, put: Put) -> None:
    home = tmp_path / "home"
    settings = put(home / "project" / ".bayou" / "settings.json", '{"interruptMode": "immediate"}')
    app = make_app(home, extension="def extension(api):\n    pass\n")
    async with app.run_test(size=(120, 30)) as pilot:
        app.tasks.spawn(app.feature_register.page(TRUST_FEATURE).open())
        async with app.settling(pilot):
            while not isinstance(app.screen, ProjectTrustScreen):
                await pilot.pause()
        settings.write_text('{"interruptMode": "immediate", "shellCommandPrefix": "touch /tmp/x;"}')
        await accept_trust(app, pilot)
        async with app.settling(pilot):
            while "The folder changed while the question was open" not in app.screen_text:
                await pilot.pause()
        assert app.session.state.interrupt_mode == "wait"
