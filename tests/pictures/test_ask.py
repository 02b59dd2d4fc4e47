"""Questions of the agent in the running application: one with choices, and several on one sheet."""

from app.providers.scripted import ScriptedModel, call, say
from app.tui.features.mcp.form import FORM_KEY_GRACE_SECONDS
from app.tui.features.mcp.form_screen import FormChoicesScreen, RequestedFormScreen
from tests.support.photographs import Photographs
from tests.support.screens import Screen
from widgets.screens.dialogs import QuestionScreen

DATABASE = {
    "question": "Which database should the harbour's log use? It is written by one process and read by several.",
    "header": "Database",
    "options": [
        {"label": "SQLite", "description": "one file, nothing to install"},
        {"label": "Postgres", "description": "there is a server already, for the bookings"},
    ],
}
LOG = {
    "question": "What does an entry keep beside the boat and the time?",
    "header": "Entry",
    "options": [{"label": "weather"}, {"label": "crew"}, {"label": "cargo"}],
    "multiple": True,
}


async def test_questions(screen: Screen, photographs: Photographs) -> None:
    answers = [call("ask", questions=[DATABASE]), call("ask", questions=[DATABASE, LOG]), say("I begin.")]
    app = screen.app("--permissions", "ask", theme=photographs.theme, script=ScriptedModel(answers))
    async with photographs.of(app) as tour:
        await tour.say("keep a log of the boats")
        await tour.until(lambda: isinstance(app.screen, QuestionScreen))
        await tour.photograph("one")
        await tour.photograph_small("one")
        await tour.answer("1", seconds=FORM_KEY_GRACE_SECONDS)
        await tour.until("Entry")
        await tour.answer("down", seconds=2 * FORM_KEY_GRACE_SECONDS)  # the form came with the key before
        await tour.answer("enter", seconds=2 * FORM_KEY_GRACE_SECONDS)
        await tour.until(lambda: isinstance(app.screen, FormChoicesScreen))
        await tour.press("enter", "down", "down", "space")
        await tour.photograph("several")
        await tour.press("ctrl+s")
        await tour.until(lambda: isinstance(app.screen, RequestedFormScreen))
        await tour.photograph("form")
        await tour.press("s")
        await tour.idle()
        await tour.photograph("answered")
