"""What the settings files say about compaction is what the session does, from the file to the cut."""

from pathlib import Path

from app.compaction.context_meter import ContextLimits
from app.compaction.summary_requests import SUMMARY_SYSTEM_PROMPT
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, say
from app.values.events import CompactionStart, Notice
from app.values.models import Model
from tests.compaction.project_session import ProjectSession
from tests.support.sessions import parts_of

LONG = "many words " * 300


def answer(context: RequestContext, count: int) -> ScriptedAnswer:
    return say("## Goal\nto go on" if context.system_prompt == SUMMARY_SYSTEM_PROMPT else LONG)


async def test_without_settings_the_defaults_hold(tmp_path: Path) -> None:
    on = await ProjectSession(tmp_path).open()
    assert parts_of(on.session).context.compactor.context_limits == ContextLimits(
        reserve_tokens=16_384, keep_recent_tokens=20_000
    )
    assert on.assembled.effective_settings.settings.compaction.mode == "auto"


async def test_the_limits_of_one_model_hold_for_it_and_what_is_left_out_is_the_general_one(
    tmp_path: Path,
) -> None:
    made = ProjectSession(tmp_path)
    made.settings(
        {
            "compaction": {
                "reserveTokens": 3_000,
                "keepRecentTokens": 900,
                "modelOverrides": {"scripted/script": {"keepRecentTokens": 100}},
            },
            "branchSummary": {"reserveTokens": 500},
        }
    )
    on = await made.open()
    assert parts_of(on.session).context.compactor.context_limits == ContextLimits(
        reserve_tokens=3_000, keep_recent_tokens=100
    )
    other = Model(id="other", name="Other", api="scripted", provider="scripted", context_window=9_000)
    on.assembled.model_choice.set_model(other)
    assert parts_of(on.session).context.compactor.context_limits == ContextLimits(
        reserve_tokens=3_000, keep_recent_tokens=900
    )


async def test_a_session_is_compacted_where_the_file_says(tmp_path: Path) -> None:
    """The same conversation, once within the limits and once over those of its model."""
    starts: dict[str, list[CompactionStart]] = {}
    for name, overrides in (("wide", {}), ("narrow", {"scripted/script": {"reserveTokens": 7_000}})):
        made = ProjectSession(tmp_path / name, [answer] * 10, window=14_000)
        limits = {"reserveTokens": 1_000, "keepRecentTokens": 300, "modelOverrides": overrides}
        made.settings({"compaction": limits})
        on = await made.open()
        starts[name] = []
        on.session.subscribe(
            lambda event, found=starts[name]: (
                found.append(event) if isinstance(event, CompactionStart) else None
            )
        )
        # 7,000 tokens are left beside the reserve.
        for number in range(9):
            await on.prompt(f"prompt {number}")
            if starts[name]:
                break
        await on.session.close()
    assert not starts["wide"]
    assert [start.reason for start in starts["narrow"]] == ["threshold"]


async def test_a_project_may_switch_it_off(tmp_path: Path) -> None:
    made = ProjectSession(tmp_path, [answer] * 4, window=3_000)
    made.write(".bayou/settings.json", '{"compaction": {"mode": "off", "reserveTokens": 100}}')
    on = await made.open()
    happened: list[object] = []
    on.session.subscribe(happened.append)
    for number in range(4):
        await on.prompt(f"prompt {number}")
    assert on.session.state.context_tokens > 3_000
    assert not [event for event in happened if isinstance(event, CompactionStart | Notice)]
