"""Servers of other programs, as these write them, in our words."""

import json

import pytest

from app.mcp.import_server_configs import find_mcp_servers_of_program
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError


def entries(program: str, paths: BayouPaths) -> dict[str, dict]:
    found = find_mcp_servers_of_program(program, paths.home, paths.cwd, {})
    assert found.problems == ()
    return {each.name: dict(each.entry) for each in found.servers if not each.problem}


def test_claudes_own_and_those_of_this_folder(paths: BayouPaths, put):
    local = {str(paths.cwd): {"mcpServers": {"here": {"type": "http", "url": "https://h.example"}}}}
    elsewhere = {"/elsewhere": {"mcpServers": {"not": {"command": "x"}}}}
    servers = {"My Docs": {"type": "stdio", "command": "npx", "args": ["-y", "d"], "env": {"K": "v"}}}
    put(paths.home / ".claude.json", json.dumps({"mcpServers": servers, "projects": {**local, **elsewhere}}))
    assert entries("claude", paths) == {
        "My-Docs": {"command": "npx", "args": ["-y", "d"], "env": {"K": "v"}},
        "here": {"url": "https://h.example"},
    }


def test_cursors_with_its_variables(paths: BayouPaths, put):
    put(
        paths.cwd / ".cursor" / "mcp.json",
        '{"mcpServers": {"a": {"url": "https://a.example", "headers": {"X": "${env:KEY}"}, "disabled": true},'
        ' "b": {"command": "${userHome}/b", "args": ["${workspaceFolder}/x"], "auth": {"CLIENT_ID": "i"}}}}',
    )
    assert entries("cursor", paths) == {
        "a": {"url": "https://a.example", "headers": {"X": "${KEY}"}, "enabled": False},
        "b": {"command": "${HOME}/b", "args": ["./x"]},
    }


def test_vscodes_with_what_it_asks_for(paths: BayouPaths, put):
    put(
        paths.cwd / ".vscode" / "mcp.json",
        """{ // as people write it
        "inputs": [{"id": "api-key"}],
        "servers": {"p": {"type": "stdio", "command": "p", "env": {"K": "${input:api-key}"}, "envFile": "x"},}}""",
    )
    (found,) = find_mcp_servers_of_program("vscode", paths.home, paths.cwd, {}).servers
    assert found.entry == {"command": "p", "args": [], "env": {"K": "${API_KEY}"}}
    assert found.conversion_notes == (
        "set the variable API_KEY: that program asks for it",
        "`envFile` is not taken over",
    )


def test_codexs_tables(paths: BayouPaths, put):
    put(
        paths.home / ".codex" / "config.toml",
        """
        [mcp_servers.docs]
        url = "https://docs.example/mcp"
        bearer_token_env_var = "DOCS"
        env_http_headers = { "X-Org" = "ORG" }
        tool_timeout_sec = 90.0
        [mcp_servers.files]
        command = "files"
        env_vars = ["LEVEL"]
        enabled_tools = ["read"]
        disabled_tools = ["write"]
        enabled = false
        """,
    )
    assert entries("codex", paths) == {
        "docs": {
            "url": "https://docs.example/mcp",
            "headers": {"X-Org": "${ORG}", "Authorization": "Bearer ${DOCS}"},
            "timeout": 90.0,
        },
        "files": {
            "command": "files",
            "args": [],
            "env": {"LEVEL": "${LEVEL}"},
            "enabled": False,
            "tools": {"*": "hidden", "read": "auto", "write": "hidden"},
        },
    }


def test_opencodes_lists_and_pis_exposures(paths: BayouPaths, put):
    put(
        paths.cwd / "opencode.jsonc",
        '{"mcp": {"l": {"type": "local", "command": ["bun", "x"], "environment": {"A": "{env:B}"}},'
        ' "r": {"type": "remote", "url": "https://r.example", "oauth": {"clientId": "{env:ID}"}},'
        ' "odd": {"enabled": true}}} // mine',
    )
    put(
        paths.home / ".pi/agent/mcp.json",
        '{"mcpServers": {"p": {"command": "p", "toolExposure": {"a": "codemode"}}}}',
    )
    assert entries("opencode", paths) == {
        "l": {"command": "bun", "args": ["x"], "env": {"A": "${B}"}},
        "r": {"url": "https://r.example", "oauth": {"clientId": "${ID}"}},
    }
    assert entries("pi", paths) == {"p": {"command": "p", "args": [], "tools": {"a": "codemode"}}}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": 1, "": {}, "b": {"command": {}}}}']
)
def test_broken_servers_are_reported_and_not_imported(paths: BayouPaths, put, text):
    put(paths.home / ".cursor" / "mcp.json", text)
    found = find_mcp_servers_of_program("cursor", paths.home, paths.cwd, {})
    assert all(each.problem for each in found.servers)
    put(paths.home / ".codex" / "config.toml", text + "\n[[[")
    assert (
        "config.toml cannot be read"
        in find_mcp_servers_of_program("codex", paths.home, paths.cwd, {}).problems[0]
    )


def test_an_unknown_program_is_refused(paths: BayouPaths):
    with pytest.raises(UserError, match="claude, cursor"):
        find_mcp_servers_of_program("emacs", paths.home, paths.cwd, {})
