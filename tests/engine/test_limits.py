"""Limits of a session's requests: at most the running request exceeds them."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.core.request_budget import SessionUsageBudget, SessionUsageLimits
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, fail, say
from app.values.messages import user_message
from app.values.usage import Cost, Usage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession

RUNS = 1_000


class Spender:
    """A model that never stops: it calls tools, fails, and each request costs money and time."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.now = 0.0
        self.began: list[float] = []
        """When each request was sent."""
        self.used: list[Usage] = []
        """What each request used."""

    def respond(self, context: RequestContext, count: int) -> ScriptedAnswer:
        self.began.append(self.now)
        self.now += self._random.uniform(0.1, 20)
        return self._random.choice(
            (call("nothing"), call("nothing") + call("nothing"), fail("overloaded", status=529), say("go on"))
        )

    def usage(self, context: RequestContext) -> Usage:
        tokens, dollars = self._random.randint(1, 400), self._random.uniform(0.001, 0.1)
        self.used.append(Usage(input=tokens, total_tokens=tokens, cost=Cost(total=dollars)))
        return self.used[-1]

    def limits(self) -> SessionUsageLimits:
        """One of them, or several."""
        choose = self._random
        wanted = choose.sample(("turns", "cost", "tokens", "seconds"), choose.randint(1, 2))
        return SessionUsageLimits(
            max_turns=choose.randint(1, 12) if "turns" in wanted else None,
            max_cost=choose.uniform(0.001, 0.4) if "cost" in wanted else None,
            max_tokens=choose.randint(1, 1500) if "tokens" in wanted else None,
            max_seconds=choose.uniform(0.1, 90) if "seconds" in wanted else None,
        )


async def _tries_to_exceed(folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spender = Spender(seed)
    monkeypatch.setattr(ScriptedModel, "usage", lambda self, context: spender.usage(context))
    limits = spender.limits()
    budget = SessionUsageBudget(limits, clock=lambda: spender.now)
    harness = ScriptedSession(folder, *[spender.respond] * 400, budget=budget)
    for round in range(40):
        await harness.session.queue("follow_up", "and then?")
        await harness.prompt("go on")
        if round % 3 == 0:
            await (
                await harness.session.requests.request_unrecorded((user_message("what is this?"),))
            ).final_message()
        if budget.has_refused_request and round > 3:
            break
    assert budget.has_refused_request
    sent = harness.script.request_count
    before_last = spender.used[:-1]
    assert limits.max_turns is None or budget.turns <= limits.max_turns
    assert limits.max_seconds is None or all(began < limits.max_seconds for began in spender.began)
    assert limits.max_cost is None or sum(one.cost.total for one in before_last) < limits.max_cost
    assert limits.max_tokens is None or sum(one.total_tokens for one in before_last) < limits.max_tokens
    answer = harness.session.last_answer
    assert answer is not None and "No further request was sent" in (answer.error_message or "")
    await harness.prompt("once more")
    assert harness.script.request_count == sent
    await harness.session.close()


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(at, marks=pytest.mark.long) for at in range(20, RUNS, 20))]
)
async def test_no_run_goes_beyond_its_limits_by_more_than_one_request(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(first, first + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        await _tries_to_exceed(folder, seed, monkeypatch)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (SessionUsageLimits(max_turns=1), "The limit of 1 turn is reached."),
        (SessionUsageLimits(max_cost=0.001), "The limit of $0.0010 ($0.50 used) is reached."),
        (SessionUsageLimits(max_tokens=3), "The limit of 3 tokens ("),
        (SessionUsageLimits(max_seconds=4), "The limit of 4 seconds is reached."),
    ],
)
async def test_the_answer_that_is_not_asked_for_says_which_limit_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: SessionUsageLimits, told: str
) -> None:
    used = Usage(input=5, total_tokens=5, cost=Cost(total=0.5))
    monkeypatch.setattr(ScriptedModel, "usage", lambda self, context: used)
    times: Callable[[], float] = iter(range(100)).__next__
    harness = ScriptedSession(
        tmp_path, call("nothing"), say("done"), budget=SessionUsageBudget(limits, clock=times)
    )
    await harness.prompt("go")
    answer = harness.session.last_answer
    assert answer is not None and answer.stop_reason == "error"
    assert (answer.error_message or "").startswith(told)
    assert harness.script.request_count == 1


async def test_sessions_that_share_a_budget_share_its_limits(tmp_path: Path) -> None:
    budget = SessionUsageBudget(SessionUsageLimits(max_turns=3))
    plays = [ScriptedSession(tmp_path / name, *[say("ok")] * 9, budget=budget) for name in ("one", "two")]
    for _ in range(3):
        for harness in plays:
            await harness.prompt("go")
    assert sum(harness.script.request_count for harness in plays) == 3


async def test_a_summary_is_not_asked_for_once_a_limit_is_reached(tmp_path: Path) -> None:
    now = [0.0]
    budget = SessionUsageBudget(SessionUsageLimits(max_seconds=5), clock=lambda: now[0])
    harness = ScriptedSession(tmp_path, *[say("a long answer " * 400)] * 2, say("summary"), budget=budget)
    harness.effective_settings.set("compaction.keepRecentTokens", 100)
    await harness.prompt("go")
    await harness.prompt("go on")
    now[0] = 5.0
    with pytest.raises(UserError, match="The limit of 5 seconds is reached"):
        await harness.session.compaction.compact()
    assert harness.script.request_count == 2
