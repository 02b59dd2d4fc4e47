"""Extensions say what is wrong with files that the agent changed."""

import re
from pathlib import Path
from typing import Any

from app.engine.files.file_diagnostics import DIAGNOSTICS_MESSAGE_TYPE
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.events import ExtensionError
from app.values.messages import CustomMessage
from bayou import Diagnose, DiagnoseAnswer, ExtensionApi, FoundProblem
from tests.architecture.sources import ROOT
from tests.extensions.extension_session import ExtensionSession

PAGE = ROOT / "docs" / "diagnostics.md"


def told(ext_session: ExtensionSession) -> list[str]:
    messages = ext_session.harness.session.messages
    return [
        text_of(one.content)
        for one in messages
        if isinstance(one, CustomMessage) and one.custom_type == DIAGNOSTICS_MESSAGE_TYPE
    ]


def stage(folder: Path) -> ExtensionSession:
    ext_session = ExtensionSession(
        folder,
        call("edit", path="a.md", edits=[{"oldText": "two", "newText": "deux"}]),
        say("done"),
        say("I see"),
    )
    (folder / "a.md").write_text("one\ntwo\nthree\n")
    ext_session.harness.effective_settings.set("diagnostics.when", "turn")
    return ext_session


async def test_new_problems_and_problems_in_new_lines_are_reported(tmp_path: Path) -> None:
    ext_session = stage(tmp_path)
    heard: list[Diagnose] = []

    def looks(api: ExtensionApi) -> None:
        @api.on("diagnose")
        def look(event: Diagnose, context: Any) -> DiagnoseAnswer:
            heard.append(event)
            rows = [
                (1, "far away, and new", True),
                (2, "in the line", None),
                (3, "old", None),
                (2, "no", False),
            ]
            return DiagnoseAnswer(
                problems=tuple(
                    FoundProblem(path="a.md", line=line, text=text, source="words", is_new=is_new)
                    for line, text, is_new in rows
                )
            )

    await ext_session.load(looks)
    await ext_session.prompt("go")
    [file] = heard[0].files
    assert (file.path, file.before, file.is_there) == (str(tmp_path / "a.md"), "one\ntwo\nthree\n", True)
    [text] = told(ext_session)
    rows = re.findall(r"^a\.md.*$", text, re.MULTILINE)
    assert rows == ["a.md:1: error: far away, and new [words]", "a.md:2: error: in the line [words]"]


async def test_several_are_all_heard_and_one_that_fails_is_reported(tmp_path: Path) -> None:
    ext_session = stage(tmp_path)

    def one(api: ExtensionApi) -> None:
        api.on(
            "diagnose", lambda event, context: {"problems": [{"path": "a.md", "line": 2, "text": "first"}]}
        )

    def broken(api: ExtensionApi) -> None:
        api.on("diagnose", lambda event, context: {"problems": "none"})

    def other(api: ExtensionApi) -> None:
        api.on(
            "diagnose", lambda event, context: {"problems": [{"path": "a.md", "line": 2, "text": "second"}]}
        )

    await ext_session.load(one, broken, other)
    await ext_session.prompt("go")
    assert "first" in told(ext_session)[0] and "second" in told(ext_session)[0]
    assert len(ext_session.harness.all(ExtensionError)) == 1


async def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(code, "page", "exec"), space)
    ext_session = ExtensionSession(
        tmp_path, call("write", path="a.md", content="no heading\n"), say("done"), say("I see")
    )
    ext_session.harness.effective_settings.set("diagnostics.when", "turn")
    await ext_session.load(space["extension"])
    await ext_session.prompt("go")
    assert "a.md:1: error: no heading [headings]" in told(ext_session)[0]
