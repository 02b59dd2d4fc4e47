"""An extension for tests of whole processes: a model that does what the last prompt says, and things that misbehave."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from app.providers.scripted import ScriptedModel, call, fail, say
from app.values.content import text_of
from app.values.messages import UserMessage
from app.values.stream import TextDelta
from bayou import BashResult, ExtensionApi, ProviderSpec, UserBashAnswer

PIECE = 9
"""Characters that come at once, so that it can be said how many deltas an answer has."""


def answer(context, count):
    asked = [message for message in context.messages if isinstance(message, UserMessage)]
    words = text_of(asked[-1].content).split() if asked else []
    done = not isinstance(context.messages[-1], UserMessage)
    match words:
        case ["deltas", number]:
            return say("".join(f"word{index % 10_000:04} " for index in range(int(number))))
        case ["words", number]:
            return say("".join(f"word{index} " for index in range(int(number))))
        case ["hang"]:
            return say("I begin.", gate=asyncio.Event())
        case ["fail"]:
            return fail("The provider is overloaded.", status=529)
        case ["Your", "answer", "does", "not", "match", *_]:
            return say("```json\n42\n```" if len(asked) > 2 else "not yet")
        case ["cut"]:
            return say("half", stop="length")
        case ["call", tool] if not done:
            return call(tool)
        case ["outside", *command] if not done:
            return call("bash", command=" ".join(command), outside=True, reason="it has to be")
        case _ if any("fail-here" in word for word in words):
            return fail("The provider is overloaded.", status=400)
        case _ if any("stall-here" in word for word in words):
            return say("I summarise.", gate=asyncio.Event())
    return say("Done." if done else " ".join(words))


def counting(adapter):
    """Writes a byte into the file STAGE_COUNTS for each delta that the model sends."""

    async def counted(model, context, options, stream) -> None:
        emit = stream.emit

        def note(event) -> None:
            if isinstance(event, TextDelta):
                sent.write(b".")
            emit(event)

        with Path(os.environ["STAGE_COUNTS"]).open("ab", buffering=0) as sent:  # noqa: ASYNC230  (a byte at a time)
            stream.emit = note
            await adapter(model, context, options, stream)

    return counted if "STAGE_COUNTS" in os.environ else adapter


def extension(api: ExtensionApi) -> None:
    stays: list[bool] = []
    script = ScriptedModel(
        [answer] * 1000,
        piece=(PIECE, PIECE),
        tokens_per_second=float(os.environ.get("STAGE_TOKENS_PER_SECOND", "0")),
    )
    spec = ProviderSpec(
        name="scripted", models=(script.model,), adapter=counting(script.adapter), api_key="none"
    )
    api.register_provider(spec)
    print("printed while loading")

    @api.on("session_start")
    async def begin(payload, context) -> None:
        await api.set_model(script.model)

    @api.command("noise", description="Prints in every way.")
    async def noise(arguments, context) -> None:
        print("printed by Python")
        os.write(1, b"written to the descriptor\n")
        subprocess.run([sys.executable, "-c", "print('printed by a child', repr(input()))"], check=False)  # noqa: ASYNC221  (an extension that behaves badly)
        if sys.__stdout__ is not None:
            print("written to the original", file=sys.__stdout__, flush=True)

    @api.command("ask")
    async def ask(arguments, context) -> None:
        seconds = float(arguments) if arguments else None
        chosen = await context.ui.select("Which?", ["a", "b"], timeout=seconds)
        sure = await context.ui.confirm("Sure?", "Really", timeout=seconds)
        name = await context.ui.input("Name?", "yours", timeout=seconds)
        text = await context.ui.editor("Text?", "so far") if seconds is None else None
        context.ui.notify(f"{chosen} {sure} {name} {text}")

    @api.command("show")
    async def show(arguments, context) -> None:
        context.ui.set_status("key", "busy")
        context.ui.set_status("key", None)
        context.ui.set_widget("lines", ["one", "two"])
        context.ui.set_title("a title")
        context.ui.set_editor_text("a text")
        context.ui.set_header(lambda: None)
        assert await context.ui.custom(lambda: None) is None
        assert context.ui.set_theme("none") is False

    @api.command("forever", description="Never ends.")
    async def forever(arguments, context) -> None:
        await asyncio.Event().wait()

    @api.command("stay", description="Every wish to leave the session is refused.")
    async def stay(arguments, context) -> None:
        stays.append(True)

    @api.on("session_before_switch")
    async def before_switch(payload, context):
        return {"cancel": True} if stays else None

    @api.on("session_before_fork")
    async def before_fork(payload, context):
        return {"cancel": True} if stays else None

    @api.on("user_bash")
    async def guard(payload, context):

        if payload.command == "forbidden":
            return UserBashAnswer(block=True, reason="Not that.")
        if payload.command == "instead":
            return UserBashAnswer(result=BashResult(output="from the extension", exit_code=7))
        return None
