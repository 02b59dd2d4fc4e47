"""A task in the background whose mark goes only when the model has really been sent its result.

`/watch COMMAND` runs a command beside the conversation. Its result wakes the agent; the status stays until a request
with the result got response headers, which `wait_for_delivery` tells, and nothing weaker.
"""

import asyncio
import shlex

from bayou import CommandContext, ExtensionApi

MESSAGE = "watched-command"


def extension(api: ExtensionApi) -> None:
    running: set[asyncio.Task] = set()

    @api.command("watch", description="Runs a command in the background and tells the agent its result")
    def watch(arguments: str, context: CommandContext) -> None:
        words = shlex.split(arguments)
        if not words:
            context.ui.notify("Which command? /watch COMMAND", "warning")
            return
        task = asyncio.get_running_loop().create_task(follow(words, context))
        running.add(task)
        task.add_done_callback(running.discard)

    async def follow(words: list[str], context: CommandContext) -> None:
        key = f"watch {words[0]}"
        context.ui.set_status(key, f"{words[0]} runs")
        try:
            done = await api.exec(words[0], words[1:], max_bytes=20_000)
            text = (
                f"{shlex.join(words)} ended with code {done.code}.\n\n{(done.stdout + done.stderr).strip()}"
            )
        except FileNotFoundError:
            text = f"There is no program {words[0]}."
        message_id = await api.send_message(MESSAGE, text, deliver_as="follow_up", trigger_turn=True)
        context.ui.set_status(key, f"{words[0]}: result on its way")
        await api.wait_for_delivery(message_id)
        context.ui.set_status(key, None)

    @api.on("session_shutdown")
    def stop(event, context) -> None:
        for task in running:
            task.cancel()
