"""Searches through folders show no line of a file that a rule keeps from `read`, or that may hold secrets."""

from pathlib import Path
from typing import Any

import pytest

from app.providers.scripted import call, say
from app.values.messages import ToolResultMessage
from tests.engine.scripted_session import ScriptedSession
from tests.permits.test_gate import decisions, gated_session, results


def fleet(
    folder: Path, *calls: Any, deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()
) -> ScriptedSession:
    harness = gated_session(folder, *calls, say("ok"), asks="none", mode="full")
    if deny:
        harness.effective_settings.set("permissions.deny", deny)
    if ask:
        harness.effective_settings.set("permissions.ask", ask)
    harness.session.tools.set_active_tools((*harness.session.tools.active_tools(), "ast_grep"))
    cwd = harness.session.cwd
    for name in ("plans/secret.py", "plans/deep/more.py", "crew.py"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(f"mooring = 'of {name}'\n")
    for name in (".env", "keys/server.pem", ".env.example"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(f"mooring='of {name}'\n")
    (cwd / "keys" / "wide.pem").write_bytes("mooring='of wide'".encode("utf-16-le"))
    return harness


@pytest.mark.parametrize("deed", ["deny", "ask"])
@pytest.mark.parametrize(
    "search",
    [
        call("grep", pattern="mooring"),
        call("grep", pattern="mooring", context=3),
        call("grep", pattern="mooring", path="plans"),
        call("grep", pattern="mooring", path=".."),
        call("grep", pattern="mooring", glob="plans/*.py"),
        call("grep", pattern="moor.*\\n", multiline=True, limit=1000),
        call("grep", pattern="mooring", path="way"),
        call("ast_grep", pattern="mooring = $X", paths=["."]),
        call("ast_grep", pattern="mooring = $X", paths=["plans/**/*.py"]),
    ],
    ids=str,
)
async def test_no_search_shows_what_is_kept_back(tmp_path: Path, search: Any, deed: str) -> None:
    harness = fleet(tmp_path, search, **{deed: ("read: plans/**",)})
    (harness.session.cwd / "way").symlink_to("plans")
    await harness.prompt("go")
    (result,) = results(harness)
    for name in ("plans/secret.py", "plans/deep/more.py", ".env", "keys/server.pem", "wide"):
        assert f"of {name}'" not in result
    if "plans" not in str(search) and "way" not in str(search):
        assert "of crew.py" in result


@pytest.mark.parametrize(
    "search",
    [
        call("grep", pattern="mooring", path="plans/secret.py"),
        call("grep", pattern="mooring", path="way.py"),
        call("ast_grep", pattern="mooring = $X", paths=["plans/secret.py"]),
        call("read", path="plans/secret.py"),
    ],
    ids=str,
)
async def test_one_that_is_named_is_judged_as_for_read(tmp_path: Path, search: Any) -> None:
    harness = fleet(tmp_path, search, deny=("read: plans/**",))
    (harness.session.cwd / "way.py").symlink_to("plans/secret.py")
    await harness.prompt("go")
    (result,) = results(harness)
    assert "deny “read: plans/**”" in result
    assert "of plans" not in result


async def test_without_rules_only_secrets_are_passed_over(tmp_path: Path) -> None:
    harness = fleet(tmp_path, call("grep", pattern="mooring"))
    await harness.prompt("go")
    (result,) = results(harness)
    assert "of plans/secret.py" in result and "of .env.example" in result
    assert "of .env'" not in result and "server.pem" not in result


async def test_an_empty_search_names_the_skipped_files(
    tmp_path: Path,
) -> None:
    asked = [
        call("grep", pattern=pattern) for pattern in ("of plans/secret", "nowhere at all", "='of [.]env'")
    ]
    harness = fleet(tmp_path, *asked, deny=("read: plans/secret.py",))
    await harness.prompt("go")
    one, two, three = results(harness)
    assert one == two == three
    assert one.startswith("No matches found\n\n[Not searched, since a permission rule")
    assert ".env, keys/server.pem, keys/wide.pem and 1 more" in one


async def test_what_was_passed_over_is_named_so_that_other_tools_understand_it(tmp_path: Path) -> None:
    harness = fleet(
        tmp_path, call("grep", pattern="mooring", path="plans/deep"), deny=("read: plans/deep/**",)
    )
    await harness.prompt("go")
    assert results(harness)[0].endswith("keeps them back: plans/deep/more.py]")


_GUESS = {"oldText": "mooring = 'of nobody'", "newText": "x"}


@pytest.mark.parametrize("deed", ["deny", "ask"])
@pytest.mark.parametrize(
    "edit",
    [
        call("edit", path="plans/secret.py", edits=[_GUESS]),
        call(
            "edit",
            path="crew.py",
            edits=[{"oldText": "of crew", "newText": "x"}, {"path": "way.py", **_GUESS}],
        ),
        call("edit", changes=[{"path": "plans/secret.py", "from": "1aa", "lines": []}]),
        call(
            "apply_patch",
            input="*** Begin Patch\n*** Update File: way.py\n@@\n-mooring = 1\n+x\n*** End Patch",
        ),
    ],
    ids=str,
)
async def test_an_edit_is_judged_as_a_read_of_what_it_changes(tmp_path: Path, edit: Any, deed: str) -> None:
    harness = fleet(tmp_path, edit, **{deed: ("read: plans/**",)})
    (harness.session.cwd / "way.py").symlink_to("plans/secret.py")
    await harness.prompt("go")
    (result,) = results(harness)
    assert "read: plans/**" in str(decisions(harness)) or "read: plans/**" in result
    assert "of plans" not in result
    assert "of crew" in (harness.session.cwd / "crew.py").read_text()


@pytest.mark.parametrize(
    "edit",
    [
        call("edit", path=".env", edits=[{"oldText": "mooring='of nobody'", "newText": "x"}]),
        call("edit", path=".env", edits=[{"oldText": "o", "newText": "x"}]),
        call("edit", path=".env", edits=[{"oldText": "MOORING='OF", "newText": "x"}]),
        call("edit", path=".env", edits=[{"oldText": "mooring=", "newText": "rope="}]),
        call("edit", path="keys/server.pem", edits=[{"oldText": "o", "newText": "x", "all": True}]),
        call("edit", changes=[{"path": ".env", "from": "1aa", "lines": []}]),
        call("edit", changes=[{"path": ".env", "from": "end", "place": "after", "lines": ["x=1"]}]),
        call("edit", changes=[{"path": ".env", "from": "start", "place": "before", "lines": ["x=1"]}]),
        call(
            "apply_patch", input="*** Begin Patch\n*** Update File: .env\n@@\n-mooring=1\n+x\n*** End Patch"
        ),
    ],
    ids=str,
)
async def test_no_edit_shows_a_line_of_what_may_be_secret(tmp_path: Path, edit: Any) -> None:
    harness = fleet(tmp_path, edit)
    await harness.prompt("go")
    told = [one for one in harness.session.messages if isinstance(one, ToolResultMessage)]
    (result,) = results(harness)
    assert "of .env'" not in result and "of keys/" not in result
    assert "'of .env" not in str(told[0].details) and "of keys/" not in str(told[0].details)


async def test_what_was_read_by_leave_is_told_of_again(tmp_path: Path) -> None:
    miss = call("edit", path=".env", edits=[{"oldText": "mooring='of nobody'", "newText": "x"}])
    harness = fleet(tmp_path, call("read", path=".env"), miss)
    harness.effective_settings.set("permissions.floorExceptions", ("read .env",))
    await harness.prompt("go")
    assert "Nearest text" in results(harness)[1]


async def test_no_patch_moves_what_is_secret_to_where_anybody_reads_it(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: .env\n*** Move to: notes.txt\n*** End Patch"
    harness = fleet(tmp_path, call("apply_patch", input=patch))
    await harness.prompt("go")
    assert "contains secrets" in results(harness)[0]
    assert not (harness.session.cwd / "notes.txt").exists()


async def test_what_is_written_over_is_not_told(tmp_path: Path) -> None:
    harness = fleet(tmp_path, call("write", path=".env", content="x=1\n"))
    await harness.prompt("go")
    (told,) = [one for one in harness.session.messages if isinstance(one, ToolResultMessage)]
    assert (harness.session.cwd / ".env").read_text() == "x=1\n"
    assert "'of .env" not in str(told)
