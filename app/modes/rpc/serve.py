"""RPC: commands in, responses and events out, one JSON object a line. The session does the work.

Commands run side by side; each input line gets exactly one response (answers to questions get none).
"""

import asyncio
from typing import Any

import msgspec

from app.engine.choice import NoModel
from app.engine.commands.base import CommandError
from app.engine.commands.state import Null
from app.engine.commands.table import COMMANDS
from app.engine.session import Refused, Session
from app.engine.shell import ShellBusy
from app.modes.endings import Prepare
from app.modes.rpc.host_tools import HostTools, SetHostTools
from app.modes.rpc.lines import LineWriter, TooLong, claim_stdout, read_lines
from app.modes.rpc.questions import Questions
from app.modes.wire_events import EventLines
from app.sessions.errors import SessionError
from app.values.codec import decode_json, encode_json
from app.values.wire import to_wire

ANSWER = "extension_ui_response"
SET_HOST_TOOLS = "set_host_tools"
_EXPECTED = (CommandError, Refused, NoModel, ShellBusy, SessionError)
"""Failures whose words are meant for the client."""


async def run_rpc(session: Session, prepare: Prepare, *, merge: bool = True, says_ready: bool = False) -> int:
    """Serves until standard input ends."""
    writer = LineWriter(claim_stdout())
    server = Server(session, writer, merge=merge)
    await prepare()
    if says_ready:
        writer.put(encode_json({"type": "ready", "sessionId": session.log.session_id}))
    try:
        async for line in read_lines(0):
            server.take(line)
        await server.finish()
    finally:
        server.close()
        await writer.flush()
        await writer.close()
    return 0


class Server:
    """Answers lines and forwards events."""

    def __init__(self, session: Session, writer: LineWriter, *, merge: bool = True) -> None:
        self._session = session
        self._writer = writer
        self._events = EventLines(writer.put, merge=merge)
        self._questions = Questions()
        self._host_tools = HostTools(session, self._put)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe = session.subscribe(self._tell, may_slow=True)

    def take(self, line: bytes | TooLong) -> None:
        """Begins to carry out a line."""
        if isinstance(line, TooLong):
            self._answer_parse(str(line))
            return
        if not line.strip():
            return
        try:
            data = decode_json(line)
        except msgspec.DecodeError as problem:
            self._answer_parse(str(problem))
            return
        if not isinstance(data, dict):
            self._put({"type": "response", "success": False, "error": "Unknown command: undefined"})
            return
        if data.get("type") == ANSWER:
            self._questions.answer(data)
            return
        if data.get("type") in ("host_tool_update", "host_tool_result"):
            self._host_tools.take(data)
            return
        task = asyncio.get_running_loop().create_task(self._carry_out(data))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """After the last line: what is under way is aborted, and everything begun gets its answer."""
        await self._session.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        await self._session.drain()

    def close(self) -> None:
        self._unsubscribe()
        self._events.flush()
        self._questions.close()
        self._host_tools.close()
        for task in self._tasks:
            task.cancel()

    async def _tell(self, event: Any) -> None:
        self._questions.note(event)
        await self._events.tell(event)
        await self._writer.room()

    async def _carry_out(self, data: dict[str, Any]) -> None:
        kind = data.get("type")
        response: dict[str, Any] = {"id": data["id"]} if data.get("id") is not None else {}
        response |= {"type": "response", "command": kind}
        try:
            result = await self._run(kind, data)
        except _EXPECTED as problem:
            response |= {"success": False, "error": str(problem)}
        except msgspec.ValidationError as problem:
            response |= {"success": False, "error": f"Invalid {kind} command: {problem}"}
        except Exception as problem:  # noqa: BLE001  (a fault in one command must not end the process)
            response |= {"success": False, "error": f"{type(problem).__name__}: {problem}"}
        else:
            response["success"] = True
            if result is not None:
                response["data"] = None if result is Null else result
        self._put(response)

    async def _run(self, kind: Any, data: dict[str, Any]) -> Any:
        fields = {key: value for key, value in data.items() if value is not None}
        if kind == SET_HOST_TOOLS:
            return await self._host_tools.set(msgspec.convert(fields, SetHostTools))
        command = COMMANDS.get(kind) if isinstance(kind, str) else None
        if command is None:
            raise CommandError(f"Unknown command: {'undefined' if kind is None else kind}")
        return await command.run(self._session, msgspec.convert(fields, command.params))

    def _answer_parse(self, problem: str) -> None:
        self._put(
            {
                "type": "response",
                "command": "parse",
                "success": False,
                "error": f"Failed to parse command: {problem}",
            }
        )

    def _put(self, response: dict[str, Any]) -> None:
        self._events.flush()
        self._writer.put(encode_json(to_wire(response)))
