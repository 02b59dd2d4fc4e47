"""Runs print, JSON and RPC mode: handles input, signals and an orderly end around the mode itself."""

import asyncio
import gc
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.command_line_prompt import CommandLinePrompts, combine_command_line_prompts, read_piped_text
from app.assembly.extensions.extension_setup import connect_extensions
from app.assembly.extensions.startup_summary import startup_summary
from app.assembly.project_trust_checker import untrusted_folder_notice
from app.assembly.session_builder import assemble_session
from app.assembly.shutdown import close_session, termination_signal
from app.assembly.trust_prompt import RpcTrustPrompt
from app.engine.session import Session
from app.exit_codes import FAILED, INTERRUPTED, USAGE_ERROR
from app.extensions.headless_ui import EventPublishingUi, HeadlessUi
from app.extensions.ui_protocol import Mode
from app.modes.answer_schema import read_answer_schema
from app.modes.headless_runs import (
    NO_PROMPT_ERROR,
    DeferredExitRequest,
    PrepareSession,
    print_failure,
    set_goal,
)
from app.printing import print_note, print_problem
from app.resources.paths import BayouPaths
from app.sessions.errors import SessionError, SessionWriteError
from app.values.events import Event, ToolExecutionEnd
from app.values.messages import AssistantMessage

_GARBAGE_COLLECTION_DELAY_SECONDS = 5.0

NO_MODEL_NOTICE = (
    "No model is connected: answers come from the offline guide, which is not a language "
    "model. To connect a model: bayou auth login PROVIDER, or set a key such as "
    "ANTHROPIC_API_KEY in the environment."
)


async def run_headless(options: CommandLineOptions, paths: BayouPaths, face: Mode) -> int:
    stood_in = paths.cwd
    try:
        assembled = assemble_session(options, paths, ends_with_answer=face != "rpc")
        piped = "" if face == "rpc" else read_piped_text()
    except SessionError as problem:
        return print_failure(str(problem), FAILED if isinstance(problem, SessionWriteError) else USAGE_ERROR)
    for problem in assembled.problems:
        print_problem(problem)
    if assembled.start_folder is not None:
        print_problem(
            f"This session belongs to {paths.cwd}: bayou works there, not in {assembled.start_folder}."
        )
    _preload_request_modules(assembled)
    if face != "rpc":
        _delay_garbage_collection(assembled.session)
    stopped = termination_signal()
    read = partial(
        combine_command_line_prompts, cwd=stood_in, permissions=assembled.session.permissions, piped=piped
    )
    work = asyncio.ensure_future(_run_session(options, paths, assembled, face, read, stood_in))
    await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
    # The mode writes its last output while the session ends.
    await asyncio.gather(close_session(assembled.session), asyncio.wait({work}, timeout=1.5))
    if stopped.done():
        return 128 + stopped.result()
    stopped.cancel()
    return work.result()


def _preload_request_modules(assembled: AssembledSession) -> None:
    """Loads what the first request needs on a thread while extensions start, so that the request is not
    delayed."""
    if assembled.model_choice.model is not None:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, assembled.registry.load_modules_for_model, assembled.model_choice.model)


def _delay_garbage_collection(session: Session) -> None:
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
    asyncio.get_running_loop().call_later(_GARBAGE_COLLECTION_DELAY_SECONDS, begin)


async def _run_session(
    options: CommandLineOptions,
    paths: BayouPaths,
    assembled: AssembledSession,
    face: Mode,
    read: Callable[[CommandLineOptions], CommandLinePrompts],
    stood_in: Path,
) -> int:
    session = assembled.session
    given: CommandLinePrompts | None = None
    ending = DeferredExitRequest()

    async def prepare() -> CommandLinePrompts:
        """Prepares the session once the mode listens, so that questions of starting extensions are heard."""
        ui = (
            EventPublishingUi(session.events.publish_now)
            if face == "rpc"
            else HeadlessUi(session.events.publish_now, face)
        )
        extended = await connect_extensions(
            assembled, options, paths, mode=face, ui=ui, shutdown=ending.request_exit
        )
        if (left_out := untrusted_folder_notice(assembled.project_trust.decision)) is not None:
            print_problem(left_out)
        if options.verbose:
            print_note(startup_summary(assembled, extended.extensions))
        if face == "rpc":
            RpcTrustPrompt(assembled, paths, extended.trust).ask_in_background()
            for problem in assembled.problems:  # a reader of JSON lines does not read standard error
                session.events.notify(problem, "warning")
            return CommandLinePrompts()
        # Only now is it known which words are values of extensions' flags.
        return await set_goal(
            session, given if given is not None else read(extended.options), options.goal_check
        )

    if face == "rpc":
        from app.modes.rpc.serve import run_rpc_mode  # noqa: PLC0415  (this face only)

        return await run_rpc_mode(
            session,
            prepare,
            merge=not options.no_merge_deltas,
            says_ready=options.rpc_ready,
            ending=ending,
        )
    if not options.extension_flags:
        given = read(options)  # reads once: a pipe cannot be read again
        if not given.prompts:
            return print_failure(NO_PROMPT_ERROR, USAGE_ERROR)
    before = session.last_answer
    folder = _result_folder(options, stood_in)
    try:
        code = await _run_print_or_json(options, assembled, face, prepare, ending)
    except asyncio.CancelledError:
        if folder is not None:
            await _write_result(folder, session, INTERRUPTED)
        raise
    if folder is not None:
        code = await _write_result(folder, session, code)
    if session.last_answer is not before and _is_guide_by_default(options, assembled):
        print_problem(NO_MODEL_NOTICE)
    return code


def _result_folder(options: CommandLineOptions, stood_in: Path) -> Path | None:
    if options.result is None:
        return None
    from app.modes.run_result import make_run_result_folder  # noqa: PLC0415  (only with `--result`)

    return make_run_result_folder(stood_in / options.result)


async def _write_result(folder: Path, session: Session, code: int) -> int:
    from app.modes.run_result import write_run_result_folder  # noqa: PLC0415  (only with `--result`)

    return await write_run_result_folder(folder, session, code)


async def _run_print_or_json(
    options: CommandLineOptions,
    assembled: AssembledSession,
    face: Mode,
    prepare: PrepareSession,
    ending: DeferredExitRequest,
) -> int:
    """Runs print or JSON mode to its end."""
    session = assembled.session
    schema = read_answer_schema(Path(options.output_schema)) if options.output_schema is not None else None
    if face == "json":
        from app.modes.json_mode import run_json_mode  # noqa: PLC0415  (this face only)

        return await run_json_mode(
            session,
            prepare,
            merge=not options.no_merge_deltas,
            next_step=partial(_next_step, assembled),
            ending=ending,
            schema=schema,
        )
    from app.modes.print_mode import run_print_mode  # noqa: PLC0415  (this face only)

    return await run_print_mode(
        session, prepare, partial(_next_step, assembled), ending=ending, schema=schema
    )


def _is_guide_by_default(options: CommandLineOptions, assembled: AssembledSession) -> bool:
    """Whether the offline guide answers only because no other model can, rather than by choice."""
    model = assembled.model_choice.model
    is_wished = (
        options.model is not None or assembled.effective_settings.settings.model.default_model is not None
    )
    return model is not None and model.api == "offline" and not is_wished


def _next_step(assembled: AssembledSession, message: AssistantMessage) -> str:
    from app.assembly.failure_advice import FailureAdvice, FailureAdviceTexts  # noqa: PLC0415  (with the first answer that fails)

    ways = FailureAdviceTexts(
        log_in="bayou auth login",
        choose_model="--model chooses",
        show_context="Send less: a shorter prompt, fewer files, or start a new session",
    )
    return FailureAdvice(assembled.model_choice, ways, os.environ).next_step(message)
