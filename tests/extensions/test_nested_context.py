"""Context files of folders below arrive with the first call that touches a file there."""

from pathlib import Path

from app.extensions.builtin import nested_context
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.messages import CustomMessage
from tests.extensions.extension_session import ExtensionSession


def arrived(session: ExtensionSession, number: int) -> list[str]:
    """The context files in a request, by their text."""
    messages = session.asked[number].messages
    return [text_of(one.content) for one in messages if isinstance(one, CustomMessage)]


async def test_a_context_file_below_arrives_once_behind_the_first_result(tmp_path: Path) -> None:
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "AGENTS.md").write_text("Use tabs. See @style.md")
    (tmp_path / "web" / "style.md").write_text("And nouns.")
    (tmp_path / "web" / "src" / "form.ts").write_text("x")
    session = ExtensionSession(
        tmp_path,
        call("read", "1", path="web/src/form.ts") + call("read", "2", path="web/src/form.ts"),
        call("write", "3", path="web/new.ts", content="y"),
        say("ok"),
        call("read", "4", path="web/style.md"),
        say("ok"),
    )
    await session.load(nested_context.extension)
    await session.prompt("go")
    (text,) = arrived(session, 1)
    assert text.startswith('For files in web:\n\n<project_instructions path="web/AGENTS.md">\nUse tabs.')
    assert "web/style.md:\n\nAnd nouns." in text
    await session.prompt("again")
    assert len(arrived(session, -1)) == 1


async def test_a_large_context_file_is_cut_and_secrets_in_it_are_masked(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    key = "ghp_" + "a1B2" * 9
    (tmp_path / "web" / "AGENTS.md").write_text(f"The key is {key}. " + "x" * 100_000)
    session = ExtensionSession(tmp_path, call("write", path="web/a.ts", content="y"), say("ok"))
    await session.load(nested_context.extension)
    await session.prompt("go")
    (text,) = arrived(session, 1)
    assert key not in text
    assert "[The rest of web/AGENTS.md was cut" in text
    assert len(text) < nested_context.MAX_NESTED_CONTEXT_FILE_CHARS + 500


async def test_failed_calls_and_untrusted_projects_add_none(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "AGENTS.md").write_text("Use tabs.")
    session = ExtensionSession(
        tmp_path,
        call("read", path="web/missing.ts"),
        say("ok"),
        call("write", path="web/a.ts", content="y"),
        say("ok"),
    )
    await session.load(nested_context.extension)
    await session.prompt("go")
    assert arrived(session, -1) == []
    bound = session.extensions.hooks.binding
    assert bound is not None
    bound.is_trusted = False
    await session.prompt("go")
    assert arrived(session, -1) == []
