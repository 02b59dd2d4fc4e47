"""Runs print, JSON and RPC mode: handles input, signals and an orderly end around the mode itself."""

import asyncio
import gc
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.assembly.asking import TrustAsked
from app.assembly.assembled import Assembled
from app.assembly.build import assemble
from app.assembly.ending import close_quietly, end_in_time
from app.assembly.extensions.extending import extend
from app.assembly.extensions.summary import summary
from app.assembly.inputs import FirstInput, read_input, read_piped
from app.assembly.options import Options
from app.assembly.signals import ENDING, hear_signals
from app.assembly.trusting import unasked
from app.engine.session import Session
from app.exit_codes import FAILED, USAGE
from app.extensions.ports import Mode
from app.extensions.ui import EventUi, SilentUi
from app.modes.answer_schema import read_schema
from app.modes.endings import NO_PROMPT, EndAsked, Prepare, fail
from app.printing import print_note, print_problem
from app.resources.paths import Paths
from app.sessions.errors import SessionError, SessionWriteError
from app.values.events import Event, ToolExecutionEnd
from app.values.messages import AssistantMessage

_LONG_SECONDS = 5.0

NO_MODEL = (
    "No model is connected: answers come from the offline guide, which is not a language "
    "model. To connect a model: bayou auth login PROVIDER, or set a key such as "
    "ANTHROPIC_API_KEY in the environment."
)


async def run_headless(options: Options, paths: Paths, face: Mode) -> int:
    stood_in = paths.cwd
    try:
        assembled = assemble(options, paths, ends_with_answer=face != "rpc")
        piped = "" if face == "rpc" else read_piped()
    except SessionError as problem:
        return fail(str(problem), FAILED if isinstance(problem, SessionWriteError) else USAGE)
    for problem in assembled.problems:
        print_problem(problem)
    if assembled.left is not None:
        print_problem(f"This session belongs to {paths.cwd}: bayou works there, not in {assembled.left}.")
    _warm_up(assembled)
    if face != "rpc":
        _collect_later(assembled.session)
    stopped = _stop_on_signals()
    read = partial(read_input, cwd=stood_in, permissions=assembled.session.permissions, piped=piped)
    work = asyncio.ensure_future(_work(options, paths, assembled, face, read))
    await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
    # The mode writes its last output while the session ends.
    await asyncio.gather(close_quietly(assembled.session), asyncio.wait({work}, timeout=1.5))
    if stopped.done():
        return 128 + stopped.result()
    stopped.cancel()
    return work.result()


def _warm_up(assembled: Assembled) -> None:
    """Loads what the first request needs on a thread while extensions start, so that the request is not
    delayed."""
    if assembled.choice.model is not None:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, assembled.registry.warm, assembled.choice.model)


def _collect_later(session: Session) -> None:
    """Delays garbage collection, since short runs end before it pays off. It begins with the first tool
    results."""

    def begin() -> None:
        if not gc.isenabled():
            gc.freeze()
            gc.enable()

    def tell(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            begin()

    session.subscribe(tell)
    asyncio.get_running_loop().call_later(_LONG_SECONDS, begin)


async def _work(
    options: Options, paths: Paths, assembled: Assembled, face: Mode, read: Callable[[Options], FirstInput]
) -> int:
    session = assembled.session
    given: FirstInput | None = None
    ending = EndAsked()

    async def prepare() -> FirstInput:
        """Prepares the session once the mode listens, so that questions of starting extensions are heard."""
        ui = (
            EventUi(session.events.publish_now)
            if face == "rpc"
            else SilentUi(session.events.publish_now, face)
        )
        extended = await extend(assembled, options, paths, mode=face, ui=ui, shutdown=ending.ask)
        if (left_out := unasked(assembled.project.decision)) is not None:
            print_problem(left_out)
        if options.verbose:
            print_note(summary(assembled, extended.extensions))
        if face == "rpc":
            TrustAsked(assembled, paths, extended.trust).begin()
            for problem in assembled.problems:  # a reader of JSON lines does not read standard error
                session.events.notify(problem, "warning")
            return FirstInput()
        # Only now is it known which words are values of extensions' flags.
        return given if given is not None else read(extended.options)

    if face == "rpc":
        from app.modes.rpc.serve import run_rpc  # noqa: PLC0415  (this face only)

        return await run_rpc(
            session,
            prepare,
            merge=not options.no_merge_deltas,
            says_ready=options.rpc_ready,
            ending=ending,
        )
    if not options.extension_flags:
        given = read(options)  # reads once: a pipe cannot be read again
        if not given.prompts:
            return fail(NO_PROMPT, USAGE)
    before = session.last_answer
    code = await _run(options, assembled, face, prepare, ending)
    if session.last_answer is not before and _is_guide_by_default(options, assembled):
        print_problem(NO_MODEL)
    return code


async def _run(options: Options, assembled: Assembled, face: Mode, prepare: Prepare, ending: EndAsked) -> int:
    """Runs print or JSON mode to its end."""
    session = assembled.session
    schema = read_schema(Path(options.output_schema)) if options.output_schema is not None else None
    if face == "json":
        from app.modes.json_lines import run_json  # noqa: PLC0415  (this face only)

        return await run_json(
            session,
            prepare,
            merge=not options.no_merge_deltas,
            next_step=partial(_next_step, assembled),
            ending=ending,
            schema=schema,
        )
    from app.modes.printing import run_print  # noqa: PLC0415  (this face only)

    return await run_print(session, prepare, partial(_next_step, assembled), ending=ending, schema=schema)


def _is_guide_by_default(options: Options, assembled: Assembled) -> bool:
    """Whether the offline guide answers only because no other model can, rather than by choice."""
    model = assembled.choice.model
    is_wished = options.model is not None or assembled.in_force.settings.model.default_model is not None
    return model is not None and model.api == "offline" and not is_wished


def _next_step(assembled: Assembled, message: AssistantMessage) -> str:
    from app.assembly.next_steps import NextSteps, Ways  # noqa: PLC0415  (with the first answer that fails)

    ways = Ways(
        log_in="bayou auth login",
        choose_model="--model chooses",
        look_at_window="Send less: a shorter prompt, fewer files, or start a new session",
    )
    return NextSteps(assembled.choice, ways, os.environ).of(message)


def _stop_on_signals() -> "asyncio.Future[int]":
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(number: int) -> None:
        if stopped.done():
            os._exit(128 + number)  # a second signal ends at once
        stopped.set_result(number)

    hear_signals(ENDING, stop, at_once=lambda number: end_in_time(128 + number))
    return stopped
