"""Runs a program when the agent has finished something that took long: a notification, a sound, a message.

"notifyDone": { "command": ["notify-send", "bayou"], "seconds": 20 }
"""

import time

from bayou import Context, ExtensionApi


def extension(api: ExtensionApi) -> None:
    began = time.monotonic()

    @api.on("agent_start")
    def begin(event, context: Context) -> None:
        nonlocal began
        began = time.monotonic()

    @api.on("agent_settled")
    async def tell(event, context: Context) -> None:
        wish = api.settings().get("notifyDone") or {}
        command = list(wish.get("command", ("notify-send", "bayou")))
        if time.monotonic() - began < wish.get("seconds", 20):
            return
        text = "stopped" if event.aborted else "finished"
        try:
            await api.exec(command[0], [*command[1:], f"{context.cwd.name}: {text}"], timeout=5)
        except FileNotFoundError:
            context.ui.notify(f"notify_done: there is no program {command[0]}", "warning")
