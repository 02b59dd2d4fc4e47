"""Searches through folders show no line of a file that a rule keeps from `read`, or that may hold secrets."""

from pathlib import Path
from typing import Any

import pytest

from app.providers.scripted import call, say
from app.values.messages import ToolResultMessage
from tests.engine.stage import Play
from tests.permits.test_gate import decisions, results, stage


def fleet(folder: Path, *calls: Any, deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()) -> Play:
    play = stage(folder, *calls, say("ok"), asks="nobody", mode="full")
    if deny:
        play.effective_settings.set("permissions.deny", deny)
    if ask:
        play.effective_settings.set("permissions.ask", ask)
    play.session.tools.set_active((*play.session.tools.active(), "ast_grep"))
    cwd = play.session.cwd
    for name in ("plans/secret.py", "plans/deep/more.py", "crew.py"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(f"mooring = 'of {name}'\n")
    for name in (".env", "keys/server.pem", ".env.example"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(f"mooring='of {name}'\n")
    (cwd / "keys" / "wide.pem").write_bytes("mooring='of wide'".encode("utf-16-le"))
    return play


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
    play = fleet(tmp_path, search, **{deed: ("read: plans/**",)})
    (play.session.cwd / "way").symlink_to("plans")
    await play.prompt("go")
    (result,) = results(play)
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
    play = fleet(tmp_path, search, deny=("read: plans/**",))
    (play.session.cwd / "way.py").symlink_to("plans/secret.py")
    await play.prompt("go")
    (result,) = results(play)
    assert "deny “read: plans/**”" in result
    assert "of plans" not in result


async def test_without_rules_only_secrets_are_passed_over(tmp_path: Path) -> None:
    play = fleet(tmp_path, call("grep", pattern="mooring"))
    await play.prompt("go")
    (result,) = results(play)
    assert "of plans/secret.py" in result and "of .env.example" in result
    assert "of .env'" not in result and "server.pem" not in result


async def test_where_nothing_is_found_one_hears_what_was_passed_over_whatever_stands_in_it(
    tmp_path: Path,
) -> None:
    asked = [
        call("grep", pattern=pattern) for pattern in ("of plans/secret", "nowhere at all", "='of [.]env'")
    ]
    play = fleet(tmp_path, *asked, deny=("read: plans/secret.py",))
    await play.prompt("go")
    one, two, three = results(play)
    assert one == two == three
    assert one.startswith("No matches found\n\n[Not searched, since a permission rule")
    assert ".env, keys/server.pem, keys/wide.pem and 1 more" in one


async def test_what_was_passed_over_is_named_so_that_other_tools_understand_it(tmp_path: Path) -> None:
    play = fleet(tmp_path, call("grep", pattern="mooring", path="plans/deep"), deny=("read: plans/deep/**",))
    await play.prompt("go")
    assert results(play)[0].endswith("keeps them back: plans/deep/more.py]")


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
    play = fleet(tmp_path, edit, **{deed: ("read: plans/**",)})
    (play.session.cwd / "way.py").symlink_to("plans/secret.py")
    await play.prompt("go")
    (result,) = results(play)
    assert "read: plans/**" in str(decisions(play)) or "read: plans/**" in result
    assert "of plans" not in result
    assert "of crew" in (play.session.cwd / "crew.py").read_text()


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
    play = fleet(tmp_path, edit)
    await play.prompt("go")
    told = [one for one in play.session.messages if isinstance(one, ToolResultMessage)]
    (result,) = results(play)
    assert "of .env'" not in result and "of keys/" not in result
    assert "'of .env" not in str(told[0].details) and "of keys/" not in str(told[0].details)


async def test_what_was_read_by_leave_is_told_of_again(tmp_path: Path) -> None:
    miss = call("edit", path=".env", edits=[{"oldText": "mooring='of nobody'", "newText": "x"}])
    play = fleet(tmp_path, call("read", path=".env"), miss)
    play.effective_settings.set("permissions.floorExceptions", ("read .env",))
    await play.prompt("go")
    assert "Nearest text" in results(play)[1]


async def test_no_patch_moves_what_is_secret_to_where_anybody_reads_it(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: .env\n*** Move to: notes.txt\n*** End Patch"
    play = fleet(tmp_path, call("apply_patch", input=patch))
    await play.prompt("go")
    assert "holds secrets" in results(play)[0]
    assert not (play.session.cwd / "notes.txt").exists()


async def test_what_is_written_over_is_not_told(tmp_path: Path) -> None:
    play = fleet(tmp_path, call("write", path=".env", content="x=1\n"))
    await play.prompt("go")
    (told,) = [one for one in play.session.messages if isinstance(one, ToolResultMessage)]
    assert (play.session.cwd / ".env").read_text() == "x=1\n"
    assert "'of .env" not in str(told)
