"""`${NAME}` and `!command`: filled in at contact, and what is missing says its name and never a value."""

import sys

import pytest

from app.mcp.server_config import McpConfigValueResolver
from app.mcp.server_config_entries import McpServerConfig
from app.values.user_errors import UserError


async def test_variables_defaults_and_commands_are_filled_in():
    server = McpServerConfig(
        name="x",
        url="https://${HOST}/mcp?k=${MISSING:-none}",
        headers={"Authorization": "Bearer ${env:TOKEN}", "X-Key": f"!{sys.executable} -c 'print(41 + 1)'"},
    )
    found = await McpConfigValueResolver({"HOST": "docs.example", "TOKEN": "s3"}).resolve_config_values(
        server
    )
    assert found.url == "https://docs.example/mcp?k=none"
    assert found.headers == {"Authorization": "Bearer s3", "X-Key": "42"}
    process = McpServerConfig(
        name="y", command="${BIN}", args=("$HOME", "!x", "${A:-}"), env={"L": "${A:-info}"}
    )
    found = await McpConfigValueResolver({"BIN": "run", "A": ""}).resolve_config_values(process)
    assert (found.command, found.args, found.env) == ("run", ("$HOME", "!x", ""), {"L": "info"})


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (
            McpServerConfig(name="x", url="https://x.example", headers={"A": "B ${DOCS_TOKEN}"}),
            "${DOCS_TOKEN} is not set",
        ),
        (
            McpServerConfig(name="x", command="a", args=("${input:key}",)),
            "another program's syntax for an input",
        ),
        (McpServerConfig(name="x", url="${ADDRESS}"), "`url` must be an address"),
        (
            McpServerConfig(name="x", url="https://x.example", headers={"A": "${LINES}"}),
            "would contain a line break",
        ),
        (McpServerConfig(name="x", command="a", env={"K": "!echo no >&2; exit 3"}), "exit code 3: no"),
        (McpServerConfig(name="x", command="a", problem="has both"), "has both"),
    ],
)
async def test_what_cannot_be_filled_in_says_which(server: McpServerConfig, words: str):
    with pytest.raises(UserError) as told:
        await McpConfigValueResolver({"ADDRESS": "hunter2", "LINES": "hunter2\nx"}).resolve_config_values(
            server
        )
    assert words in str(told.value)
    assert "hunter2" not in str(told.value)
