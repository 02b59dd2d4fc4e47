"""Starts the structural search process for one call, hands on its answers as they come, and ends it with the call."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tools.ast_search.search_messages import Answer, SearchDone, StructureRequest
from tools.base import ToolError
from tools.running.programs import RunningProgram

_CHILD_PROGRAM: Final = (
    "import sys, json; sys.path[:0] = json.loads(sys.stdin.buffer.readline()); "
    "from tools.ast_search.search_process import main; main()"
)
_TIMEOUT: Final = 120
_MAX_LINE: Final = 64 << 20
_ANSWER_DECODER: Final = msgspec.json.Decoder(Answer)


async def search(request: StructureRequest, take: Callable[[list[Answer]], None]) -> SearchDone:
    """Runs a structural search in its process and passes the answers to `take` in a thread. Raises `ToolError` if the
    process ends early."""
    places = [place for place in sys.path if place and Path(place).is_absolute()]
    async with await RunningProgram.start(
        (sys.executable, "-I", "-c", _CHILD_PROGRAM),
        cwd="/",
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        is_fed=True,
        line_limit=_MAX_LINE,
    ) as program:
        try:
            program.stdin.write(msgspec.json.encode(places) + b"\n" + msgspec.json.encode(request) + b"\n")
            return await asyncio.wait_for(_take_answers(program.stdout, take), _TIMEOUT)
        except TimeoutError:
            raise ToolError(f"The search took longer than {_TIMEOUT} seconds. Narrow paths.") from None
        except (EOFError, OSError, ValueError, RecursionError):
            raise ToolError("The search ended early. Try a narrower pattern, or fewer paths.") from None


async def _take_answers(output: asyncio.StreamReader, take: Callable[[list[Answer]], None]) -> SearchDone:
    while True:
        line = await output.readline()
        if not line:
            raise EOFError
        answer = (
            await asyncio.to_thread(_ANSWER_DECODER.decode, line)
            if len(line) > 1 << 16
            else _ANSWER_DECODER.decode(line)
        )
        if isinstance(answer, SearchDone):
            return answer
        await asyncio.to_thread(take, [answer])
