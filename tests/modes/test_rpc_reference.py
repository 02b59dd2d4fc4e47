"""What is published about RPC is what the program does: one table, one union of events."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from app.engine.commands.command_table import COMMANDS
from app.modes.rpc import python_client_generator, reference
from app.values.events import Event
from bayou.client import RpcClient

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "run: python -m app.modes.rpc.reference"


def definitions() -> dict[str, Any]:
    return json.loads((ROOT / reference.RPC_SCHEMA_FILE).read_text(encoding="utf-8"))["$defs"]


def test_the_published_schema_is_up_to_date() -> None:
    assert (ROOT / reference.RPC_SCHEMA_FILE).read_text(encoding="utf-8") == reference.rpc_schema_text(), (
        REMEDY
    )


def test_the_published_page_is_up_to_date() -> None:
    text = (ROOT / reference.RPC_DOCS_PAGE).read_text(encoding="utf-8")
    assert reference.updated_rpc_docs_page(text) == text, REMEDY


def test_the_page_names_every_command_that_pi_does_not_know_and_no_other() -> None:
    names = {command.name for command in reference.documented_rpc_commands()}
    assert names >= reference.PI_RPC_COMMANDS
    text = (ROOT / reference.RPC_DOCS_PAGE).read_text(encoding="utf-8")
    begin, end = (mark.format(name="beyond pi") for mark in (reference.BEGIN, reference.END))
    told = text.partition(begin)[2].partition(end)[0]
    assert set(re.findall(r"`(\w+)`", told)) == names - reference.PI_RPC_COMMANDS


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    known = definitions()
    text = (ROOT / reference.RPC_SCHEMA_FILE).read_text(encoding="utf-8")
    wanted = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert wanted <= set(known)
    assert not [key for key in text.split('"') if key.startswith("*")], "a private field is published"


def test_every_event_and_command_is_in_the_schema() -> None:
    known = definitions()
    for command in reference.documented_rpc_commands():
        assert known[f"command:{command.name}"]["properties"]["type"] == {"const": command.name}
    for event in get_args(Event):
        assert known[event.__name__]["properties"]["type"] == {"enum": [event.__struct_config__.tag]}


def test_the_clients_values_are_up_to_date() -> None:
    text = (ROOT / python_client_generator.CLIENT_VALUES_FILE).read_text(encoding="utf-8")
    assert text == python_client_generator.client_values_source(COMMANDS.values()), REMEDY


def test_the_clients_methods_are_up_to_date() -> None:
    text = (ROOT / python_client_generator.CLIENT_COMMANDS_FILE).read_text(encoding="utf-8")
    assert text == python_client_generator.client_commands_source(COMMANDS.values()), REMEDY


@pytest.mark.parametrize("command", reference.documented_rpc_commands(), ids=lambda command: command.name)
def test_the_python_client_has_a_method_for_every_command(command: Any) -> None:
    method = getattr(RpcClient, command.name)
    given = len(inspect.signature(method).parameters) - 1
    fields = [field for field in msgspec.structs.fields(command.parameters_struct) if field.name != "id"]
    assert given >= len(fields)


def test_no_command_takes_the_name_of_its_request_for_a_word_of_its_own() -> None:
    taking = [one.name for one in COMMANDS.values() if "id" in one.parameters_struct.__struct_fields__]
    assert taking == ["prompt", "steer", "follow_up", "abort_and_prompt", "bash"], "their events carry it"


def test_the_page_shows_a_program_of_twenty_lines_that_runs(tmp_path: Path) -> None:
    text = (ROOT / reference.RPC_DOCS_PAGE).read_text(encoding="utf-8")
    program = text.split("```python\n")[1].split("```")[0]
    assert len([line for line in program.splitlines() if line.strip()]) <= 20
    path = os.pathsep.join((str(ROOT), str(ROOT / "app" / "package")))
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert {"agent_start", "message_update", "agent_settled"} <= set(lines)
    assert not lines[-1].isidentifier(), "the answer comes last"
