"""Implements `--output-schema FILE`: the answer must be one JSON value that matches a JSON Schema."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from app.assembly.command_line_options import UsageError
from app.values.codec import decode_json
from app.values.user_errors import UserError

MAX_ANSWER_REPAIRS: Final = 2
"""How often the model is asked again for an answer that does not match."""
_MAX_SCHEMA_BYTES: Final = 256 * 1024
_MAX_REPORTED_MISMATCHES: Final = 5
_SCHEMA_RECURSION_PROBES: Final = (None, True, 0, "", [None], {"": None})
"""Values of each type, used to find a schema that refers to itself without end."""


class UnusableSchema(UserError):
    """The schema itself is unusable, which was found when a value was compared with it."""


class AnswerSchema:
    """A JSON Schema as read from its file, which checks answers."""

    def __init__(self, schema: Any, validator: Any) -> None:
        self._schema = schema
        self._validator = validator

    @property
    def prompt_section(self) -> str:
        """The section of the system prompt that describes the schema."""
        return (
            "Your last message of this run is read by a program. It must be one JSON value that matches "
            f"this JSON Schema, with no other text and no code fence around it:\n\n{json.dumps(self._schema)}"
        )

    def schema_mismatch_text(self, answer: str) -> str:
        """Describes how the answer differs from the schema; empty when it matches. Raises `UnusableSchema`."""
        try:
            value = decode_json(strip_code_fence_around_json(answer))
        except msgspec.DecodeError as problem:
            return f"it is not a single JSON value: {problem}"
        return "; ".join(self.schema_mismatches(value))

    @staticmethod
    def repair_prompt(misfit: str) -> str:
        """Returns the prompt that asks for the answer again."""
        return (
            f"Your answer does not match the JSON Schema: {misfit}. Answer again with one JSON value that "
            "matches it and nothing else."
        )

    def schema_mismatches(self, value: Any) -> list[str]:
        """Describes the first differences between a value and the schema. Raises `UnusableSchema`."""
        # Imported late: few runs have a schema.
        from referencing.exceptions import Unresolvable  # noqa: PLC0415

        misfits: list[str] = []
        try:
            for error in self._validator.iter_errors(value):
                misfits.append(f"{error.json_path}: {error.message[:300]}")
                if len(misfits) == _MAX_REPORTED_MISMATCHES:
                    break
        except Unresolvable as problem:
            raise UnusableSchema(f"it has a $ref to something outside the schema: {problem}") from None
        except RecursionError:
            raise UnusableSchema("it refers to itself without end, or is nested too deeply") from None
        return misfits


def read_answer_schema(path: Path) -> AnswerSchema:
    """Reads a schema from a file. Raises `UsageError`, which names the file."""
    # Imported late as above: together they take as long as the rest of a start.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    def unusable(why: str) -> UsageError:
        return UsageError(f"--output-schema {path}: {why}.")

    try:
        if path.stat().st_size > _MAX_SCHEMA_BYTES:
            raise unusable(f"the schema is larger than {_MAX_SCHEMA_BYTES >> 10} KB")
        schema = decode_json(path.read_bytes())
    except OSError as problem:
        raise unusable(problem.strerror or str(problem)) from None
    except msgspec.DecodeError as problem:
        raise unusable(f"it is not JSON: {problem}") from None
    if schema is False:
        raise unusable("the schema `false` accepts no answer")
    if not isinstance(schema, dict | bool):
        raise unusable("a schema must be an object")
    kind: Any = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        # Without the registry a `$ref` to an address would be fetched.
        found = AnswerSchema(schema, kind(schema, registry=Registry()))
        for probe in _SCHEMA_RECURSION_PROBES:
            found.schema_mismatches(probe)
    except SchemaError as problem:
        raise unusable(f"it is not a valid schema: {problem.json_path}: {problem.message[:300]}") from None
    except UnusableSchema as problem:
        raise unusable(str(problem)) from None
    except RecursionError:
        raise unusable("it is nested too deeply") from None
    return found


def strip_code_fence_around_json(text: str) -> str:
    """Returns the answer without the code fence that models like to put around JSON."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text.split("\n", 1)[1][:-3]
    return text
