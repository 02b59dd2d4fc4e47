"""`bayou mcp`: what is configured is shown, changed in the file it stands in, and taken over from others."""

import asyncio
import io
import json
import os
import sys
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.mcp_server_sources import mcp_server_sources
from app.assembly.session_builder import assemble_session
from app.assembly.session_opening import read_settings
from app.cli.commands.mcp_command import run
from app.engine.mcp.session_servers import McpServerSources
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import store_trust_answer, trust_question_for
from app.values.user_errors import UserError
from tests.mcp.guarded_server import GuardedServer, last_page
from tests.mcp.test_servers import FAULTY
from tests.support.warm_bayou import BAYOU


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BayouPaths:
    folder = tmp_path / "home" / "project"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BAYOU_AGENT_DIR", raising=False)
    monkeypatch.chdir(folder)
    return BayouPaths.from_env(os.environ, folder)


def own(paths: BayouPaths) -> Path:
    return paths.agent_dir / "mcp.json"


def test_a_server_is_added_shown_without_its_secrets_and_removed(paths: BayouPaths, capsys):
    assert (
        run(["add", "docs", "--url", "https://me:pw@docs.example/mcp?key=hunter2", "--bearer-env", "DOCS"])
        == 0
    )
    assert (
        run(
            [
                "add",
                "files",
                "--env",
                "TOKEN=hunter2",
                "--exposure",
                "direct",
                "--",
                "srv",
                "--api-key",
                "hunter2",
            ]
        )
        == 0
    )
    assert own(paths).stat().st_mode & 0o777 == 0o600
    assert json.loads(own(paths).read_text())["mcpServers"]["files"] == {
        "env": {"TOKEN": "hunter2"},
        "exposure": "direct",
        "command": "srv",
        "args": ["--api-key", "hunter2"],
    }
    capsys.readouterr()
    for words in (["list"], ["list", "--json"], ["get", "docs"], ["get", "files"]):
        assert run(words) == 0
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err
    assert "pw" not in told.out
    assert "Authorization=Bearer ${DOCS}" in told.out
    assert "srv --api-key •••" in told.out
    assert run(["remove", "docs"]) == 0
    assert list(json.loads(own(paths).read_text())["mcpServers"]) == ["files"]


def test_a_projects_server_is_switched_off_in_the_persons_own_file(paths: BayouPaths, capsys):
    theirs = '{"mcpServers": {"my_docs": {"command": "d"}}}'
    Path(".mcp.json").write_text(theirs)
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    own(paths).parent.mkdir(parents=True, exist_ok=True)
    own(paths).write_text('{\n  // mine\n  "other": 1\n}\n')
    assert run(["disable", "my-docs"]) == 0
    assert Path(".mcp.json").read_text() == theirs
    assert "// mine" in own(paths).read_text()
    assert run(["list"]) == 0
    assert "my_docs  off" in capsys.readouterr().out
    assert run(["enable", "my_docs"]) == 0
    assert run(["list"]) == 0
    assert "my_docs  on" in capsys.readouterr().out


def test_untrusted_servers_are_told_as_that(paths: BayouPaths, capsys):
    Path(".mcp.json").write_text('{"mcpServers": {"theirs": {"command": "evil"}}}')
    assert run(["list"]) == 0
    assert "theirs  untrusted  evil  (.mcp.json)" in capsys.readouterr().out


def test_taking_over_shows_asks_and_leaves_what_is_there(
    paths: BayouPaths, capsys, monkeypatch: pytest.MonkeyPatch
):
    (paths.home / ".cursor").mkdir()
    (paths.home / ".cursor" / "mcp.json").write_text(
        '{"mcpServers": {"a": {"command": "a", "env": {"KEY": "hunter2"}}, "b": {"command": "b"}, "bad": 1}}'
    )
    assert run(["add", "b", "--", "mine"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(["import", "cursor"]) == 1
    assert list(json.loads(own(paths).read_text())["mcpServers"]) == ["b"]
    assert run(["import", "cursor", "--yes"]) == 0
    told = capsys.readouterr().out
    assert "has a server of that name" in told
    assert "not bad: is not a server that bayou can use" in told
    assert "hunter2" not in told
    assert json.loads(own(paths).read_text())["mcpServers"] == {
        "b": {"command": "mine", "args": []},
        "a": {"command": "a", "args": [], "env": {"KEY": "hunter2"}},
    }
    with pytest.raises(UserError, match="No servers of codex were found in"):
        run(["import", "codex"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["add"], "Server name required"),
        (["add", "x"], "a command .after --. or an address"),
        (["add", "x", "npx"], "Put the server's command after --"),
        (["add", "a b", "--", "x"], "is not a valid server name"),
        (["add", "x", "--url", "https://x.example", "--", "x"], "not both"),
        (["add", "x", "--url"], "--url needs a value"),
        (["add", "x", "--header", "A", "--url", "https://x.example"], "needs NAME=VALUE"),
        (["add", "x", "--env", "A=1", "--url", "https://x.example"], "--env is for a command"),
        (["add", "x", "--exposure", "loud", "--", "x"], "--exposure is one of auto"),
        (["add", "x", "--frob", "--", "x"], "Unknown option: --frob"),
        (["get"], "Server name required. Usage: bayou mcp get NAME"),
        (["frob"], "Unknown command: bayou mcp frob"),
        (["import", "--yes"], "usage: bayou mcp import"),
    ],
)
def test_words_that_make_no_sense_are_told(paths: BayouPaths, words, told):
    with pytest.raises(UsageError, match=told):
        run(words)


def test_a_failed_mcp_command_says_why_and_changes_nothing(paths: BayouPaths):
    with pytest.raises(UserError, match="must be an address"):
        run(["add", "x", "--url", "docs.example"])
    with pytest.raises(UserError, match='Server "x" not found'):
        run(["disable", "x"])
    own(paths).parent.mkdir(parents=True, exist_ok=True)
    own(paths).write_text('{"mcpServers": {')
    with pytest.raises(UserError, match="Fix the file first"):
        run(["add", "x", "--", "y"])
    assert own(paths).read_text() == '{"mcpServers": {'


def places(paths: BayouPaths, options: CommandLineOptions) -> McpServerSources:
    effective_settings, project = read_settings(options, paths)
    return mcp_server_sources(paths, project, effective_settings, options)


def test_the_command_line_adds_a_file_or_leaves_all_out(paths: BayouPaths):
    run(["add", "x", "--", "y"])
    Path("more.json").write_text('{"mcpServers": {"x": {"exposure": "hidden"}, "z": {"command": "z"}}}')
    found = places(paths, CommandLineOptions(mcp_config="more.json")).find_servers({})
    assert [(each.name, each.exposure, each.origin) for each in found.servers] == [
        ("x", "hidden", "user"),
        ("z", None, "flag"),
    ]
    assert places(paths, CommandLineOptions(no_mcp=True)).find_servers({}).servers == ()
    with pytest.raises(UsageError, match="no such file"):
        places(paths, CommandLineOptions(mcp_config="none.json"))


def test_servers_are_contacted_from_outside_of_a_session(paths: BayouPaths, capsys):
    run(["add", "docs", "--", sys.executable, FAULTY])
    run(["add", "broken", "--", sys.executable, FAULTY, "exit-in-start"])
    capsys.readouterr()
    assert run(["test", "docs"]) == 0
    assert '✓ Successfully connected to "docs"' in capsys.readouterr().out
    assert run(["test"]) == 1
    told = capsys.readouterr()
    assert 'Failed to connect to "broken"' in told.err
    assert "| no config" in told.err
    assert "12 tools" in told.out
    assert run(["logs", "broken"]) == 0
    assert "no config" in capsys.readouterr().out
    assert run(["restart", "docs"]) == 0
    with pytest.raises(UserError, match="not found"):
        run(["logs", "nobody"])
    with pytest.raises(UserError, match="a program on this machine"):
        run(["login", "docs"])


async def test_a_sign_in_from_the_command_line_counts_in_a_session_that_is_open(paths: BayouPaths, capsys):
    """The browser is elsewhere: the last address is pasted."""
    server = GuardedServer()
    try:
        run(["add", "guarded", "--url", server.url])
        assembled = assemble_session(CommandLineOptions(permissions="full"), paths, {}, ends_with_answer=True)
        verbs = assembled.session.mcp
        with pytest.raises(UserError, match="sign-in required: /mcp login guarded"):
            await verbs.test_server("guarded")
        assert verbs.server_view("guarded").state == "sign-in"
        process = await asyncio.create_subprocess_exec(
            *(*BAYOU, "mcp", "login", "guarded", "--no-browser"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ},
        )
        assert process.stdout is not None and process.stdin is not None
        address = ""
        while not address.startswith("http"):
            line = await process.stdout.readline()
            assert line, "it ended without an address"
            address = line.decode().strip()
        process.stdin.write((await asyncio.to_thread(last_page, address)).encode() + b"\n")
        out, _ = await process.communicate()
        assert "Signed in" in out.decode()
        assert (await verbs.test_server("guarded")).state == "ready"
        await assembled.session.close()
    finally:
        server.close()


def test_nothing_that_goes_wrong_is_an_internal_error(paths: BayouPaths):
    """All user errors have one base class at the command line's boundary."""
    run(["add", "gone", "--url", "http://127.0.0.1:9/mcp"])
    for words in (
        ["disable", "nobody"],
        ["login", "gone"],
        ["import", "codex"],
        ["logs", "nobody"],
        ["restart", "gone"],
    ):
        with pytest.raises(UsageError):
            run(words)
