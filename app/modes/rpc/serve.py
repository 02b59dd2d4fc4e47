"""Serves RPC: reads commands, writes responses and events, one JSON object per line. The session does the
work.

Commands run concurrently; each input line gets exactly one response (answers to questions and the results of
host tools get none). Commands that come while the session is prepared wait for it; answers do not, since a starting
extension may have asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.engine.commands.command_table import COMMANDS
from app.engine.commands.session_command import SessionCommandDefinition
from app.engine.session import Session
from app.modes.headless_runs import DeferredExitRequest, PrepareSession, print_failure
from app.modes.line_reader import LineTooLong, read_pipe_lines
from app.modes.rpc.host_tools import HostTools, set_host_tools
from app.modes.rpc.open_questions import OpenRpcQuestions
from app.modes.stdout_writer import (
    STDOUT_READER_TIMEOUT,
    STDOUT_READER_TIMEOUT_AFTER_SIGNAL,
    StdoutLineWriter,
    claim_stdin,
    claim_stdout,
)
from app.modes.wire_events import EventLineWriter
from app.values.codec import decode_json, encode_json
from app.values.user_errors import UserError
from app.values.wire import new_id

QUESTION_ANSWER_LINE_TYPE = "extension_ui_response"
HOST_TOOL_LINE_TYPES = ("host_tool_update", "host_tool_result")
_RPC_ABORT_COMMANDS = ("abort", "abort_and_prompt")
_FINAL_RESPONSES_TIMEOUT = 1.0
_BAYOU_IS_ENDING_ERROR = "bayou is ending, so this request was not finished."


async def run_rpc_mode(
    session: Session,
    prepare: PrepareSession,
    *,
    merge: bool = True,
    says_ready: bool = False,
    ending: DeferredExitRequest | None = None,
) -> int:
    """Serves until standard input ends, or an extension asks for the end; returns 1 when the reader of the
    output has gone."""
    descriptor, writer = claim_stdin(), StdoutLineWriter(claim_stdout())
    server = RpcServer(session, writer, merge=merge)
    patience = STDOUT_READER_TIMEOUT

    async def begin() -> None:
        await prepare()
        if says_ready:
            writer.queue_line(encode_json({"type": "ready", "sessionId": session.state.session_id}))

    try:
        await server.serve(descriptor, ending or DeferredExitRequest(), begin)
        await server.finish(patience)
    except asyncio.CancelledError:
        # The session is being closed by other code; its last events are still sent.
        patience = STDOUT_READER_TIMEOUT_AFTER_SIGNAL
        await server.finish_open_commands(patience)
        raise
    finally:
        server.close()
        has_told = await writer.flush(patience)
    if has_told:
        return 0
    return print_failure(writer.failure) if writer.failure else 1


class RpcServer:
    """Answers input lines and sends events."""

    def __init__(self, session: Session, writer: StdoutLineWriter, *, merge: bool = True) -> None:
        self._session = session
        self._writer = writer
        self._events = EventLineWriter(writer.queue_line_in_pieces, merge=merge)
        self._questions = OpenRpcQuestions(self._withdraw_question)
        self._host_tools = HostTools(session, self._write_frame)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_prepared = asyncio.Event()
        self._unsubscribe = session.subscribe(self._send_event, pace=writer.wait_for_output_space)
        """Subscribes to all events, in order with all other output; a slow reader slows the session."""

    async def serve(
        self, descriptor: int, ending: DeferredExitRequest, prepare: Callable[[], Awaitable[None]]
    ) -> None:
        """Prepares the session and serves until the input ends, an extension asks for the end, or the reader of
        the output has gone."""

        async def read() -> None:
            async for line in read_pipe_lines(descriptor):
                self.start_command(line)

        reading = asyncio.ensure_future(self._writer.await_until_reader_gone(read()))
        preparing = asyncio.ensure_future(prepare())
        started: list[asyncio.Future[Any]] = [reading, preparing]
        try:
            await asyncio.wait({reading, preparing}, return_when=asyncio.FIRST_COMPLETED)
            if not preparing.done():
                self._questions.close()  # the client is gone
            await preparing
            self._is_prepared.set()
            started.append(end := asyncio.ensure_future(ending.wait_until_due(self._session)))
            await asyncio.wait({reading, end}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                await reading
        finally:
            for task in started:
                task.cancel()

    def start_command(self, line: bytes | LineTooLong) -> None:
        """Starts the RPC command that a line of input contains."""
        if isinstance(line, LineTooLong):
            self._answer_parse_error(str(line))
            return
        try:
            data = decode_json(line)
        except msgspec.DecodeError as problem:
            self._answer_parse_error(str(problem))
            return
        if not isinstance(data, dict):
            self._write_frame({"type": "response", "success": False, "error": "Unknown command: undefined"})
            return
        if data.get("type") == QUESTION_ANSWER_LINE_TYPE:
            self._questions.accept_answer(data)
        elif data.get("type") in HOST_TOOL_LINE_TYPES:
            self._host_tools.handle_host_tool_line(data)
        else:
            task = asyncio.get_running_loop().create_task(self._run_line(data))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finish(self, patience: float) -> None:
        """Ends after the last line: aborts the active run, and answers every command that was started."""
        stalled = asyncio.ensure_future(self._writer.give_up_stalled_reader(patience))
        await asyncio.sleep(0)  # lets the last line's command start
        self._questions.close()
        self._host_tools.close()
        await self._session.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_FINAL_RESPONSES_TIMEOUT)
        await self._cancel_open_commands()
        stalled.cancel()

    async def finish_open_commands(self, patience: float) -> None:
        """Answers all open commands while other code closes the session."""
        stalled = asyncio.ensure_future(self._writer.give_up_stalled_reader(patience))
        self._questions.close()
        self._host_tools.close()
        await self._session.wait_until_idle()
        await self._cancel_open_commands()
        stalled.cancel()

    async def _cancel_open_commands(self) -> None:
        """Cancels commands that an abort does not end, such as a question or a long command of an
        extension."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_FINAL_RESPONSES_TIMEOUT)

    def close(self) -> None:
        self._unsubscribe()
        self._events.flush()
        self._questions.close()
        self._host_tools.close()
        for task in self._tasks:
            task.cancel()

    def _send_event(self, event: Any) -> None:
        self._questions.handle_event(event)
        self._events.handle_event(event)

    async def _run_line(self, data: dict[str, Any]) -> None:
        kind = data.get("type")
        command = COMMANDS.get(kind) if isinstance(kind, str) else None
        if kind in _RPC_ABORT_COMMANDS:
            # an abort does not end an extension's command that waits for an answer, since it is no run
            self._questions.cancel_all_questions()
        response: dict[str, Any] = {"id": data["id"]} if data.get("id") is not None else {}
        response["type"] = "response"
        if kind is not None:
            response["command"] = kind
        try:
            await self._is_prepared.wait()
            if command is None or not command.stops:
                await self._writer.wait_for_output_space()
            answer = {"success": True, **await self._response_data(command, data)}
        except UserError as problem:
            answer = {"success": False, "error": str(problem)}
        except msgspec.ValidationError as problem:
            answer = {"success": False, "error": f"Invalid {kind} command: {problem}"}
        except asyncio.CancelledError:
            answer = {"success": False, "error": _BAYOU_IS_ENDING_ERROR}
        except Exception as problem:  # noqa: BLE001  (a fault in one command must not end the process)
            answer = {"success": False, "error": f"{type(problem).__name__}: {problem}"}
        self._write_frame(response | answer)

    async def _response_data(
        self, command: SessionCommandDefinition[Any, Any] | None, data: dict[str, Any]
    ) -> dict[str, Any]:
        if command is not None:
            return command.encode_result(await command(self._session, **command.decode_arguments(data)))
        if (kind := data.get("type")) == set_host_tools.name:
            return set_host_tools.encode_result(
                self._host_tools.replace_tools(**set_host_tools.decode_arguments(data))
            )
        raise UserError(f"Unknown command: {'undefined' if kind is None else kind}")

    def _answer_parse_error(self, problem: str) -> None:
        self._write_frame(
            {
                "type": "response",
                "command": "parse",
                "success": False,
                "error": f"Failed to parse command: {problem}",
            }
        )

    def _withdraw_question(self, question_id: str) -> None:
        """Tells the RPC client that an open question needs no answer any more."""
        cancel = {"type": "extension_ui_request", "id": new_id(), "method": "cancel", "targetId": question_id}
        self._write_frame(cancel)

    def _write_frame(self, frame: dict[str, Any]) -> None:
        self._events.flush()
        self._writer.queue_line(encode_json(frame))
