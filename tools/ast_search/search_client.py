"""Starts the structural search process for one call, hands on its answers as they come, and ends it with the call."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tools.ast_search.search_messages import (
    StructuralSearchAnswer,
    StructuralSearchDone,
    StructuralSearchRequest,
)
from tools.running.child_programs import ChildProgram
from tools.tool_definition import ToolError

_SEARCH_PROCESS_PROGRAM: Final = (
    "import sys, json; sys.path[:0] = json.loads(sys.stdin.buffer.readline()); "
    "from tools.ast_search.search_process import main; main()"
)
_STRUCTURAL_SEARCH_TIMEOUT: Final = 120
_MAX_SEARCH_ANSWER_LINE_BYTES: Final = 64 << 20
_SEARCH_ANSWER_DECODER: Final = msgspec.json.Decoder(StructuralSearchAnswer)


async def search_structurally(
    request: StructuralSearchRequest, take: Callable[[list[StructuralSearchAnswer]], None]
) -> StructuralSearchDone:
    """Runs a structural search in its process and passes the answers to `take` in a thread. Raises `ToolError` if the
    process ends early."""
    places = [place for place in sys.path if place and Path(place).is_absolute()]
    async with await ChildProgram.start(
        (sys.executable, "-I", "-c", _SEARCH_PROCESS_PROGRAM),
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        is_fed=True,
        line_limit=_MAX_SEARCH_ANSWER_LINE_BYTES,
    ) as program:
        try:
            program.stdin.write(msgspec.json.encode(places) + b"\n" + msgspec.json.encode(request) + b"\n")
            return await asyncio.wait_for(_receive_answers(program.stdout, take), _STRUCTURAL_SEARCH_TIMEOUT)
        except TimeoutError:
            raise ToolError(
                f"The search took longer than {_STRUCTURAL_SEARCH_TIMEOUT} seconds. Narrow paths."
            ) from None
        except (EOFError, OSError, ValueError, RecursionError):
            raise ToolError("The search ended early. Try a narrower pattern, or fewer paths.") from None


async def _receive_answers(
    output: asyncio.StreamReader, take: Callable[[list[StructuralSearchAnswer]], None]
) -> StructuralSearchDone:
    while True:
        line = await output.readline()
        if not line:
            raise EOFError
        answer = (
            await asyncio.to_thread(_SEARCH_ANSWER_DECODER.decode, line)
            if len(line) > 1 << 16
            else _SEARCH_ANSWER_DECODER.decode(line)
        )
        if isinstance(answer, StructuralSearchDone):
            return answer
        await asyncio.to_thread(take, [answer])
