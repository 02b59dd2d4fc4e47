"""Hooks are called in the order of the list in `app.engine.core.hooks`."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from app.engine.context.compactor import Compactor
from app.engine.core.hooks import HOOK_ORDER, Hooks
from app.providers.scripted import call, say
from tests.agent.scripted_loop import echo
from tests.engine.scripted_session import ScriptedSession

WITHOUT_A_NETWORK = {"change_request_headers"}
"""Asked by what sends over the network (`tests/extensions/test_provider_hooks`)."""


def noting(asked: list[str]) -> Hooks:
    """Hooks that answer as usual and note what they were asked."""
    hooks = Hooks()
    for name, method in inspect.getmembers(hooks, inspect.ismethod):
        if not name.startswith("_"):
            setattr(hooks, name, _noted(name, method, asked))
    return hooks


def _noted(name: str, method: Any, asked: list[str]) -> Any:
    def ask(*arguments: Any) -> Any:
        asked.append(name)
        return method(*arguments)

    return ask


def first_of_each(asked: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(asked))


async def test_a_prompt_and_a_turn_ask_in_the_order_that_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    harness = ScriptedSession(
        tmp_path, call("echo", text="a"), say("done"), tools=[echo()], hooks=noting(asked)
    )
    usual = Compactor.compact_if_full

    async def check(compactor: Compactor, run: Any = None) -> None:
        asked.append("compaction: check")
        await usual(compactor, run)

    monkeypatch.setattr(Compactor, "compact_if_full", check)
    await harness.session.prompt("/go", while_running="steer")
    prompt = [name for name in asked if name in HOOK_ORDER["a prompt"]]
    assert tuple(prompt) == tuple(name for name in HOOK_ORDER["a prompt"] if name != "is_extension_command")
    await harness.session.wait_until_idle()
    turn = first_of_each([name for name in asked if name in HOOK_ORDER["a turn"]])
    assert turn == tuple(name for name in HOOK_ORDER["a turn"] if name not in WITHOUT_A_NETWORK)
    assert asked[-1] in HOOK_ORDER["the end of a run"]


async def test_a_fork_is_asked_about_before_the_session_is_left(tmp_path: Path) -> None:
    asked: list[str] = []
    harness = ScriptedSession(tmp_path, say("one"), hooks=noting(asked))
    await harness.prompt("a")
    asked.clear()
    leaf = harness.session.state.leaf_id
    assert leaf is not None
    assert await harness.session.branches.fork(leaf, "at")
    assert tuple(asked) == HOOK_ORDER["another session"]


def test_every_question_of_the_list_is_one_of_the_class() -> None:
    questions = {name for group in HOOK_ORDER.values() for name in group if ":" not in name}
    assert {name for name in questions if not hasattr(Hooks, name)} == set()
