"""How a run ended, as scripts see it: limits, permissions, schemas and a blocked agent, in the real program."""

import asyncio
import json
from pathlib import Path

import pytest

from app.assembly.command_line_options import UsageError
from app.cli.option_parsing import parse_command_line_options, reject_misspelled_subcommand
from app.exit_codes import BLOCKED, DONE, LIMIT_REACHED, PERMISSION_REFUSED, SCHEMA_MISMATCH, USAGE_ERROR
from app.modes.answer_schema import read_answer_schema, strip_code_fence_around_json
from bayou.client import RpcClient
from tests.modes.processes import STAGE
from tests.modes.test_print_and_json import bayou

NUMBER, OBJECT = '{"type": "number"}', '{"type": "object"}'
FAULTY = '{"if": {"const": 42}, "then": {"$ref": "#/nowhere"}}'
"""It is seen only with the answer."""


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["--max-turns", "1", "call read"], LIMIT_REACHED, "", "The limit of 1 turn is reached."),
        (["--mode", "json", "--max-tokens", "1", "call read"], LIMIT_REACHED, None, "The limit of 1 token ("),
        (
            ["--permissions", "read-only", "outside touch x"],
            PERMISSION_REFUSED,
            "Done.\n",
            "bash was refused: touch x.",
        ),
        (["BLOCKED: a key"], BLOCKED, "BLOCKED: a key\n", "The agent is blocked: a key"),
        (["--goal-check", "test -e number", "hello"], DONE, "hello\n", "Goal met.\n✓ test -e number (exit 0"),
        (
            ["--goal-check", "false", "hello"],
            LIMIT_REACHED,
            "Done.\n",
            "The run ended before the goal was met: the agent stopped 3",
        ),
        (["--goal-check", "false", "BLOCKED: a key"], BLOCKED, "BLOCKED: a key\n", "The agent is blocked"),
        (["--goal-check", " ", "hello"], USAGE_ERROR, "", "--goal-check needs a command"),
        (["--output-schema", "number", "hello"], DONE, "42\n", ""),
        (
            ["--output-schema", "object", "hello"],
            SCHEMA_MISMATCH,
            "",
            "does not match the schema: $: 42 is not of type",
        ),
        (
            ["--output-schema", "faulty", "hello"],
            USAGE_ERROR,
            "",
            "it has a $ref to something outside the schema",
        ),
        (["--output-schema", "nowhere", "hello"], USAGE_ERROR, "", "nowhere: No such file or directory."),
    ],
)
async def test_the_exit_code_says_how_a_run_ended(
    words: list[str], code: int, out: str | None, err: str, tmp_path: Path
) -> None:
    (tmp_path / "number").write_text(NUMBER)
    (tmp_path / "object").write_text(OBJECT)
    (tmp_path / "faulty").write_text(FAULTY)
    done = await bayou("-e", STAGE, "-p", *words, cwd=tmp_path)
    assert done.code == code, done.err
    assert err in done.err and (out is None or done.out == out)


async def test_rpc_tells_of_a_limit_as_an_answer_that_failed(tmp_path: Path) -> None:
    arguments = ["-e", STAGE, "--max-turns", "2", "--no-session"]
    async with RpcClient(cwd=tmp_path, arguments=arguments) as client:
        settled = asyncio.Event()
        client.on_event(lambda data: settled.set() if data["type"] == "agent_settled" else None)
        for prompt in ("one", "two", "three"):
            settled.clear()
            await client.prompt(prompt)
            await asyncio.wait_for(settled.wait(), 30)
        said = [getattr(one, "error_message", None) for one in await client.get_messages()]
    assert [one for one in said if one] == [
        "The limit of 2 turns is reached. No further request was sent. Raise the limit to continue."
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--max-turns", "0"], "--max-turns 0: use a whole number from 1"),
        (["--max-turns", "-1"], "--max-turns -1: use a whole number"),
        (["--max-tokens", "1.5"], "--max-tokens 1.5: use a whole number"),
        (["--max-tokens", "1_000"], "--max-tokens 1_000: use"),
        (["--max-cost", "0"], "--max-cost 0: use a number above 0"),
        (["--max-cost", "-0.1"], "--max-cost -0.1: use a number above 0"),
        (["--max-cost=nan"], "--max-cost nan: use"),
        (["--time-limit", "inf"], "--time-limit inf: use"),
        (["--time-limit", "0.0"], "--time-limit 0.0: use"),
        (["--mode", "rpc", "--output-schema", "x"], "--output-schema is for print and JSON mode"),
    ],
)
def test_limits_that_are_none(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match="^" + told.replace("(", r"\(")):
        parse_command_line_options(words)


NOWHERE = '{"properties": {"a": {"$ref": "#/nowhere"}}}'
WITHOUT_END = '{"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}'


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("{", "it is not JSON"),
        ("[]", "a schema must be an object"),
        ("false", "accepts no answer"),
        ('{"type": "nope"}', "it is not a valid schema: $.type"),
        ('{"$ref": "#"}', "it refers to itself without end"),
        ('{"$ref": "http://127.0.0.1:9/schema"}', "it has a $ref to something outside the schema"),
        ('{"x": "' + "y" * 300_000 + '"}', "the schema is larger than 256 KB"),
        ('{"not": ' * 5_000 + "{}" + "}" * 5_000, ""),
    ],
    ids=range(8),
)
def test_schemas_that_cannot_be_used(schema: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(schema)
    with pytest.raises(UsageError) as refused:
        read_answer_schema(file)
    assert str(refused.value).startswith(f"--output-schema {file}: ") and told in str(refused.value)


def test_a_recursive_schema_and_one_that_nothing_fits_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    file.write_text(json.dumps({**tree, "additionalProperties": False}))
    schema = read_answer_schema(file)
    assert schema.schema_mismatch_text('{"kids": [{"kids": []}]}') == ""
    assert "$.kids[0]" in schema.schema_mismatch_text('{"kids": [{"boat": 1}]}')
    assert schema.schema_mismatch_text('{"kids": ' * 3_000 + "[]" + "}" * 3_000) != ""
    assert schema.schema_mismatch_text("no JSON").startswith("it is not a single JSON value")
    assert schema.schema_mismatch_text(strip_code_fence_around_json('```json\n{"kids": []}\n```')) == ""
    file.write_text('{"allOf": [{"type": "string"}, {"type": "number"}]}')
    assert (
        read_answer_schema(file).schema_mismatch_text("1")
        != ""
        != read_answer_schema(file).schema_mismatch_text('"x"')
    )
    file.write_text(NOWHERE)
    assert read_answer_schema(file).schema_mismatch_text("{}") == ""
    file.write_text(WITHOUT_END)
    assert read_answer_schema(file).schema_mismatch_text("{}") == ""


@pytest.mark.parametrize(
    ("word", "meant"),
    [("sesions", "bayou --session"), ("udate", "bayou update"), ("permision", "bayou permissions")],
)
def test_a_word_that_is_nearly_a_command_is_no_prompt(word: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"Unknown command: {word}. Did you mean {meant}[?]"):
        reject_misspelled_subcommand([word])


@pytest.mark.parametrize(
    "words", [["hello"], ["--", "sesions"], ["sesions", "now"], ["why?"], ["tour"], ["help"], ["-p"], []]
)
def test_other_words_are_prompts(words: list[str]) -> None:
    reject_misspelled_subcommand(words)


async def test_a_slip_is_refused_by_the_program(tmp_path: Path) -> None:
    done = await bayou("sesions", cwd=tmp_path)
    assert (done.code, done.out) == (USAGE_ERROR, "") and "bayou -- sesions" in done.err
