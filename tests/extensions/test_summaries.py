"""Compactions and branches that an extension cancels, steers, or summarises itself: loaded from a file, as people
load theirs.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from app.compaction.summary_requests import SUMMARY_SYSTEM_PROMPT
from app.engine.context.branch_summary import NavigationStopped
from app.engine.context.summariser import SummaryCancelled
from app.engine.core.hook_results import NavigationOptions
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, say
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry, CompactionEntry
from app.values.messages import UserMessage
from tests.compaction.project_session import ProjectSession

EXTENSION = '''
"""Answers what a file beside it says, and notes what it was told."""

import json
from pathlib import Path

WORDS = Path(__file__).with_name("words.json")
TOLD = Path(__file__).with_name("told.jsonl")


def note(**fields):
    with TOLD.open("a") as file:
        file.write(json.dumps(fields) + "\\n")


def extension(api):
    @api.on("session_before_compact")
    def before_compact(event, context):
        note(hook="before_compact", reason=event.reason, messages=len(event.messages), kept=len(event.kept),
             instructions=event.custom_instructions)
        return json.loads(WORDS.read_text()).get("compact")

    @api.on("session_compact")
    def compacted(event, context):
        note(hook="compact", summary=event.entry.summary, mine=event.from_extension, details=event.entry.details)

    @api.on("session_compact_failed")
    def failed(event, context):
        note(hook="failed", aborted=event.aborted)

    @api.on("session_before_tree")
    def before_tree(event, context):
        note(hook="before_tree", messages=len(event.messages), wants=event.wants_summary,
             instructions=event.custom_instructions, old=event.old_leaf_id, ancestor=event.common_ancestor_id)
        return json.loads(WORDS.read_text()).get("tree")

    @api.on("session_tree")
    def moved(event, context):
        note(hook="tree", new=event.new_leaf_id, old=event.old_leaf_id, summary=event.summary,
             mine=event.from_extension, details=event.entry.details if event.entry else None)
'''
LONG = "many words " * 300
USAGE = {"input": 70, "output": 7, "totalTokens": 77}


class Staged:
    def __init__(self, home: Path) -> None:
        self.requests: list[str] = []
        self.scene = ProjectSession(home, [self.answer] * 20)
        self.scene.settings({"compaction": {"keepRecentTokens": 300}})
        self.folder = self.scene.paths.agent_dir / "extensions"
        self.scene.write("~/.bayou/agent/extensions/mine.py", EXTENSION)
        self.says()

    def answer(self, context: RequestContext, count: int) -> ScriptedAnswer:
        if context.system_prompt != SUMMARY_SYSTEM_PROMPT:
            return say(LONG)
        self.requests.append(text_of(context.messages[0].content))  # type: ignore[union-attr]
        return say("## Goal\nby the model")

    def says(self, **answers: Any) -> None:
        (self.folder / "words.json").write_text(json.dumps(answers))

    async def told(self, hook: str) -> list[dict[str, Any]]:
        await self.session.events.wait_until_delivered()
        path = self.folder / "told.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line["hook"] == hook]

    @property
    def session(self):
        return self.scene.session

    def prompts(self) -> list[str]:
        return [message.id for message in self.session.messages if isinstance(message, UserMessage)]


@pytest.fixture
async def staged(tmp_path: Path) -> Staged:
    stage = Staged(tmp_path)
    await stage.scene.open()
    for text in ("one", "two", "three"):
        await stage.scene.prompt(text)
    return stage


def compactions(stage: Staged) -> list[CompactionEntry]:
    return [entry for entry in stage.session.log.path_to() if isinstance(entry, CompactionEntry)]


async def test_a_compaction_is_cancelled(staged: Staged) -> None:
    staged.says(compact={"cancel": True})
    with pytest.raises(SummaryCancelled):
        await staged.session.compaction.compact("the colours")
    assert not compactions(staged) and not staged.requests
    [before] = await staged.told("before_compact")
    assert before["reason"] == "manual" and before["instructions"] == "the colours"
    assert before["messages"] and before["kept"]
    assert [line["aborted"] for line in await staged.told("failed")] == [True]


async def test_a_compaction_is_steered(staged: Staged) -> None:
    staged.says(compact={"custom_instructions": "Only the colours."})
    await staged.session.compaction.compact("all of it")
    assert "Additional focus: Only the colours." in staged.requests[0]
    assert "all of it" not in staged.requests[0]
    [told] = await staged.told("compact")
    assert not told["mine"] and told["summary"].startswith("## Goal\nby the model")


async def test_a_compaction_is_written_and_its_details_and_usage_are_kept(staged: Staged) -> None:
    before = staged.session.stats.usage.input
    own = {"summary": "mine", "details": {"index": [1, 2]}, "usage": USAGE}
    staged.says(compact={"compaction": own})
    result = await staged.session.compaction.compact()
    [entry] = compactions(staged)
    assert not staged.requests and result.summary == entry.summary == "mine" and entry.from_hook
    assert entry.details == {"readFiles": [], "modifiedFiles": [], "index": [1, 2]}
    assert entry.usage is not None and entry.usage.input == 70
    assert staged.session.stats.usage.input == before + 70
    [told] = await staged.told("compact")
    assert told["mine"] and told["details"]["index"] == [1, 2]


async def test_a_compaction_is_cut_where_the_extension_wants(staged: Staged) -> None:
    third = staged.prompts()[2]
    staged.says(compact={"compaction": {"summary": "mine", "first_kept_entry_id": third}})
    await staged.session.compaction.compact()
    assert staged.prompts() == [third]
    assert compactions(staged)[0].first_kept_entry_id == third


async def test_going_elsewhere_and_merging_are_cancelled(staged: Staged) -> None:
    old = await left(staged)
    before, leaf, moves = staged.session.messages, staged.session.log.leaf_id, await staged.told("tree")
    staged.says(tree={"cancel": True})
    with pytest.raises(NavigationStopped):
        await staged.session.branches.go_to_entry(
            staged.prompts()[1], NavigationOptions(should_summarise=True)
        )
    with pytest.raises(NavigationStopped):
        await staged.session.branches.merge_branch(old)
    assert staged.session.messages == before and staged.session.log.leaf_id == leaf
    assert await staged.told("tree") == moves and not staged.requests


async def left(stage: Staged) -> str:
    """Leaves the second and third turn behind; returns the end of that branch."""
    old = stage.session.log.leaf_id
    assert old is not None
    await stage.session.branches.go_to_entry(stage.prompts()[1])
    await stage.scene.prompt("another two")
    return old


async def test_a_branch_summary_is_steered_and_labelled(staged: Staged) -> None:
    staged.says(
        tree={"custom_instructions": "Only the colours.", "replace_instructions": True, "label": "left"}
    )
    old = staged.session.log.leaf_id
    arrival = await staged.session.branches.go_to_entry(
        staged.prompts()[1], NavigationOptions(should_summarise=True, instructions="all of it")
    )
    assert staged.requests[0].endswith("</conversation>\n\nOnly the colours."), "in place of bayou's own"
    entry = arrival.summary
    assert entry is not None and staged.session.log.label(entry.id) == "left"
    [before] = await staged.told("before_tree")
    assert before["wants"] and before["instructions"] == "all of it" and before["messages"] == 4
    assert before["old"] == old
    [told] = await staged.told("tree")
    assert told["old"] == old and told["summary"] == entry.summary and not told["mine"]


async def test_a_branch_summary_is_written_and_its_details_and_usage_are_kept(staged: Staged) -> None:
    before = staged.session.stats.usage.input
    staged.says(tree={"summary": {"summary": "mine", "details": {"index": 3}, "usage": USAGE}})
    arrival = await staged.session.branches.go_to_entry(
        staged.prompts()[1], NavigationOptions(should_summarise=True)
    )
    entry = arrival.summary
    assert isinstance(entry, BranchSummaryEntry) and entry.summary == "mine" and entry.from_hook
    assert entry.details == {"readFiles": [], "modifiedFiles": [], "index": 3} and not staged.requests
    assert staged.session.stats.usage.input == before + 70
    [told] = await staged.told("tree")
    assert told["mine"] and told["details"]["index"] == 3
    assert told["new"] == staged.session.log.leaf_id == entry.id


async def test_a_merge_asks_and_tells_too(staged: Staged) -> None:
    old = await left(staged)
    leaf = staged.session.log.leaf_id
    staged.says(tree={"summary": {"summary": "what the other branch found", "details": {"by": "me"}}})
    entry = await staged.session.branches.merge_branch(old)
    assert entry.parent_id == leaf and entry.from_id == old and entry.details["by"] == "me"
    assert (await staged.told("tree"))[-1]["mine"]
