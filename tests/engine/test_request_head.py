"""The reported prompt and tools of the next request: current, and the same bytes while unchanged."""

from pathlib import Path

import msgspec

from app.engine.core.toolbox import Toolbox
from app.engine.models.model_requests import EncodedPromptAndTools, EncodedPromptAndToolsCache
from app.values.codec import decode_json, encode_json
from tools.running.shell_settings import ShellSettings
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ToolResult, text_result

SECTIONS = {"preamble": "You help.", "cwd": "/here"}


async def _done(arguments: object, context: ToolContext) -> ToolResult:
    return text_result("done")


def tool(name: str, description: str = "") -> Tool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return Tool(name=name, description=description, schema=schema, run=_done)


def told(head: EncodedPromptAndTools) -> tuple[str, list[tuple[str, str]]]:
    tools = decode_json(bytes(head.encoded_tools))
    return decode_json(bytes(head.encoded_prompt)), [(each["name"], each["description"]) for each in tools]


def test_while_nothing_changes_it_is_made_once():
    heads, read = EncodedPromptAndToolsCache(), tool("read")
    first = heads.encoded_prompt_and_tools_for(SECTIONS, (read,))
    assert heads.encoded_prompt_and_tools_for(dict(SECTIONS), (read,)) is first
    assert told(first) == ("You help.\n\n<cwd>\n/here\n</cwd>", [("read", "")])


def test_changes_of_the_request_head_are_reported():
    heads = EncodedPromptAndToolsCache()
    sections = dict(SECTIONS)
    heads.encoded_prompt_and_tools_for(sections, (tool("read"),))
    assert told(heads.encoded_prompt_and_tools_for(sections, (tool("read", "Reads."),)))[1] == [
        ("read", "Reads.")
    ]
    assert told(heads.encoded_prompt_and_tools_for(sections, (tool("read"), tool("bash"))))[1] == [
        ("bash", ""),
        ("read", ""),
    ]
    sections["cwd"] = "/there"  # the same dictionary, changed in its place
    assert "/there" in told(heads.encoded_prompt_and_tools_for(sections, ()))[0]
    assert told(heads.encoded_prompt_and_tools_for({}, ())) == ("", [])


def test_it_is_part_of_a_line_also_where_the_line_holds_half_a_character():
    head = EncodedPromptAndToolsCache().encoded_prompt_and_tools_for(SECTIONS, (tool("read"),))
    line = encode_json(
        {"sessionName": "half \ud83d", "systemPrompt": head.encoded_prompt, "tools": head.encoded_tools}
    )
    found = decode_json(line)
    assert found["sessionName"] == "half \ud83d"
    assert found["systemPrompt"].startswith("You help.")
    assert found["tools"][0]["parameters"]["properties"] == {"path": {"type": "string"}}
    assert isinstance(head.encoded_tools, msgspec.Raw)


def test_where_commands_get_no_terminal_the_model_hears_of_none(tmp_path: Path):
    has_terminals = True
    workspace = SessionWorkspace(tmp_path, shell=lambda: ShellSettings(has_terminals=has_terminals))
    toolbox, heads = Toolbox(lambda box: builtin_tools(), workspace), EncodedPromptAndToolsCache()
    first = bytes(
        heads.encoded_prompt_and_tools_for(SECTIONS, tuple(toolbox.active_tools().values())).encoded_tools
    )
    has_terminals = False
    toolbox.recompute_active_tools()
    without = bytes(
        heads.encoded_prompt_and_tools_for(SECTIONS, tuple(toolbox.active_tools().values())).encoded_tools
    )
    assert b'"pty"' in first and b'"pty"' not in without
    assert [one["name"] for one in decode_json(first)] == [one["name"] for one in decode_json(without)]
    assert [one for one in decode_json(first) if one["name"] != "bash"] == [
        one for one in decode_json(without) if one["name"] != "bash"
    ]
    has_terminals = True
    toolbox.recompute_active_tools()
    assert (
        bytes(
            heads.encoded_prompt_and_tools_for(SECTIONS, tuple(toolbox.active_tools().values())).encoded_tools
        )
        == first
    )
