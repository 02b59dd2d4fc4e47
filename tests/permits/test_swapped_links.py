"""What was judged is what is opened: a link that is put in a path's place while a question stands leads nowhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.providers.scripted import call, say
from app.values.events import Event, QuestionAsked
from tests.permits.test_gate import gated_session, results
from tools.box.sandbox_instructions import SandboxFeatures

KEY = "the key of another place"
PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch"
CALLS: dict[str, dict[str, Any]] = {
    "read": {"path": ".env"},
    "write": {"path": "a.txt", "content": "new"},
    "edit": {"path": "a.txt", "edits": [{"old_text": "old", "new_text": "new"}]},
    "apply_patch": {"input": PATCH},
}


def link_to_file(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def link_above(path: Path, secret: Path) -> None:
    (secret.parent / path.name).write_text(KEY)
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(secret.parent)


@pytest.mark.parametrize("has_sandbox", [True, False])
@pytest.mark.parametrize("swap", [link_to_file, link_above])
@pytest.mark.parametrize("tool", CALLS)
async def test_a_link_swapped_in_while_a_question_stands_leads_nowhere(
    tmp_path: Path, tool: str, swap: Callable[[Path, Path], None], has_sandbox: bool
) -> None:
    none = None if has_sandbox else (lambda: SandboxFeatures())
    asked = {**CALLS[tool]}
    if "path" in asked:
        asked["path"] = f"sub/{asked['path']}"
    else:
        asked["input"] = asked["input"].replace("a.txt", "sub/a.txt")
    harness = gated_session(tmp_path, call(tool, **asked), say("ok"), mode="ask")
    workspace = harness.session.tools.workspace
    if none is not None:
        workspace.abilities = none
    folder = harness.session.cwd / "sub"
    folder.mkdir()
    secret = tmp_path / "home" / ".ssh" / "id_ed25519"
    secret.parent.mkdir(parents=True)
    secret.write_text(KEY)
    path = folder / (".env" if tool == "read" else "a.txt")
    path.write_text("old\n")
    questions: list[QuestionAsked] = []

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked):
            questions.append(event)
            swap(path, secret)
            event.answer.set_result(ApprovalReply(is_allowed=True))

    harness.session.subscribe(answer)
    await harness.prompt("go")
    assert len(questions) == 1, results(harness)
    text = results(harness)[0]
    assert KEY not in text and secret.read_text() == KEY
    assert all(one.read_text() == KEY for one in secret.parent.iterdir() if one.name in (".env", "a.txt"))
    assert "leads elsewhere than when the call was judged" in text or (has_sandbox and "the sandbox" in text)


@pytest.mark.parametrize("has_sandbox", [True, False])
async def test_a_link_that_stays_is_followed(tmp_path: Path, has_sandbox: bool) -> None:
    harness = gated_session(
        tmp_path, call("read", path="link"), call("write", path="link", content="new"), say("ok"), mode="ask"
    )
    if not has_sandbox:
        harness.session.tools.workspace.abilities = lambda: SandboxFeatures()
    (harness.session.cwd / "there").write_text("seen")
    (harness.session.cwd / "link").symlink_to("there")

    def allow(event: Event) -> None:
        if isinstance(event, QuestionAsked):
            event.answer.set_result(ApprovalReply(is_allowed=True))

    harness.session.subscribe(allow)
    await harness.prompt("go")
    assert "seen" in results(harness)[0] and (harness.session.cwd / "there").read_text() == "new"
