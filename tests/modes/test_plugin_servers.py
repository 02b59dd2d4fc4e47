"""A plugin's MCP server, in whole processes: installed, called, removed."""

import json
import shutil
import sys
from pathlib import Path

from bayou.client import RpcClient
from bayou.values import text_of
from tests.modes.processes import CALLS, results_of
from tests.support import warm_bayou

SERVER = Path(__file__).parent / "extensions" / "order_server.py"
NAME = "mcp__plugin_notes_log__note"


async def note(folder: Path) -> tuple[bool, str]:
    """Whether the call failed, and its result."""
    flags = ["-e", CALLS, "--permissions", "full", "--no-session"]
    async with RpcClient(cwd=folder, arguments=flags) as client:
        [found] = await results_of(client, (NAME, {"number": 7, "said": "x"}))
    return found.is_error, text_of(found.content).strip()


async def test_a_plugin_s_server_answers_until_the_plugin_is_removed(tmp_path: Path) -> None:
    plugin = tmp_path / "notes"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "notes"}')
    server = {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/serve.py"], "exposure": "direct"}
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": {"log": server}}))
    shutil.copy(SERVER, plugin / "serve.py")
    added = warm_bayou.run("plugin", "add", str(plugin), "--yes", cwd=tmp_path)
    assert added.returncode == 0 and "plugin_notes_log" in added.stdout
    assert await note(tmp_path) == (False, "1:7")
    assert warm_bayou.run("plugin", "remove", "notes", cwd=tmp_path).returncode == 0
    is_error, text = await note(tmp_path)
    assert is_error and NAME in text
