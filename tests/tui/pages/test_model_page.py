"""`/model`, `/thinking`, the cycle keys and their scope."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.providers.scripted import say
from app.tui.features.models.page import ModelPage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.support.terminals import WRITTEN_NOTHING, terminal
from tests.tui.pages.person import Person, at_the_keyboard


class Models:
    """The page over a session that has the scripted model and those of a provider called `harbour`."""

    def __init__(self, folder: Path, person: Person) -> None:
        self.harness = ScriptedSession(folder, say("ok"))
        self.choice = self.harness.choice
        models = [{"id": "tug", "reasoning": True}, {"id": "barge"}]
        self.choice.catalogue.add_provider("harbour", {**HARBOUR, "models": models}, owner="test")
        self.person = person
        self.connected: list[str] = []
        self.asked: list[str] = []
        self.page = ModelPage(
            self.harness.session,
            self.choice,
            person.ask,
            person.say,
            person.keep,
            person.key_label,
            connect=self._connect,
            query_models=self._look_up,
        )

    async def _connect(self, provider: str) -> None:
        self.connected.append(provider)
        if provider == "harbour":
            await self.choice.credentials.store_key(provider, "sk-1")

    async def _look_up(self, provider: str) -> str:
        self.asked.append(provider)
        return f"{provider} has 2 models"

    @property
    def model(self) -> str:
        model = self.harness.session.state.model
        return model.key if model is not None else ""


HARBOUR: dict[str, Any] = {"api": "openai-completions", "baseUrl": "http://harbour.test"}


async def test_a_model_is_chosen_by_its_name_and_made_the_default(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        async with person.asked(models.page.choose_model()):
            await person.press(*"barge", "ctrl+s")
        assert models.model == "harbour/barge" and models.connected == []
        assert person.kept == {"defaultProvider": "harbour", "defaultModel": "barge"}
        assert person.heard == ["Default model: harbour/barge."]


async def test_a_provider_without_a_key_is_connected_first(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        async with person.asked(models.page.choose_model()):
            await person.press(*"tug")
            assert "No key" in person.sees
            await person.press("enter")
        assert models.connected == ["harbour"] and models.model == "harbour/tug"


async def test_the_heads_of_the_list_are_above_their_columns(tmp_path: Path) -> None:
    async with at_the_keyboard(size=(80, 24)) as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        async with person.asked(models.page.choose_model()):
            lines = person.sees.splitlines()
            head = next(line for line in lines if "provider" in line and "context" in line)
            shown = [line for line in lines if " barge " in line or " tug " in line]
            assert len(shown) == 2
            for line in shown:
                assert line.index("harbour") == head.index("provider")
                assert line[: line.index("harbour")].rstrip().endswith("k")
                assert len(line[: line.index("harbour")].rstrip()) == head.index("context") + len("context")
            await person.press("escape")


async def test_who_gives_up_connecting_keeps_the_model(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        models.choice.catalogue.add_provider("quay", {**HARBOUR, "models": [{"id": "crane"}]}, owner="test")
        before = models.model
        async with person.asked(models.page.choose_model()):
            await person.press(*"crane", "enter")
        assert models.connected == ["quay"] and models.model == before


async def test_a_provider_is_asked_while_the_list_stays_open(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        async with person.asked(models.page.choose_model()):
            await person.press(*"tug", "ctrl+r")
            await person.sees_soon("harbour has 2 models")
            await person.press("escape")
        assert models.asked == ["harbour"]


def test_enter_on_a_servers_row_asks_it_and_says_on_the_page_why_that_failed(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    models = {"providers": {"shed": {"api": "openai-completions", "baseUrl": "http://127.0.0.1:9/v1"}}}
    (agent / "models.json").write_text(json.dumps(models))
    with terminal(tmp_path, size=(120, 30), env={"BAYOU_AGENT_DIR": str(agent)}) as shown:
        shown.until(WRITTEN_NOTHING)
        shown.press("/model\r")
        shown.until("list the server's models")
        shown.press("shed\r")
        shown.until("The provider is not available")
        assert "127.0.0.1:9" in shown.screen and "list the server's models" in shown.screen


async def test_a_name_may_have_a_level_behind_it(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        await models.page.select_model_by_name("harbour/tug:low")
        assert (models.model, models.harness.session.state.thinking) == ("harbour/tug", "low")
        assert person.heard == ["Model: harbour/tug"]
        with pytest.raises(UserError, match="nobody"):
            await models.page.select_model_by_name("nobody")


async def test_a_level_is_chosen_for_this_session_or_for_all(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        await models.page.select_model_by_name("harbour/tug")
        async with person.asked(models.page.choose_thinking_level()):
            await person.press("home", "enter")
        assert models.harness.session.state.thinking == models.choice.thinking_levels[0] and person.kept == {}
        async with person.asked(models.page.choose_thinking_level()):
            await person.press("end", "ctrl+s")
        assert person.kept == {"defaultThinkingLevel": models.choice.thinking_levels[-1]}
        with pytest.raises(UserError, match="Levels for /thinking: off, "):
            await models.page.set_thinking_level_by_name("lots")


async def test_the_cycle_keys_go_through_what_was_chosen(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        async with person.asked(models.page.choose_cycled_models()):
            await person.press(*"tug", "enter", "ctrl+u", *"barge", "enter", "ctrl+s")
        chosen = {model.key for model in models.choice.scope}
        assert chosen == {"harbour/tug", "harbour/barge"} == set(person.kept["enabledModels"])
        await models.page.cycle_model(1)
        first = models.model
        await models.page.cycle_model(1)
        assert {first, models.model} == chosen


async def test_a_model_without_thinking_levels_is_named(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        models = Models(tmp_path, person)
        await models.choice.credentials.store_key("harbour", "sk-1")
        await models.page.select_model_by_name("harbour/barge")
        person.heard.clear()
        await models.page.cycle_level()
        assert person.heard == ["barge has no thinking levels. /model selects another."]
