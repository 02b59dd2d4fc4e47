"""A status in the footer: turns and tool calls of this run, and how full the window is."""

from bayou import Context, ExtensionApi

KEY = "status-line"


def extension(api: ExtensionApi) -> None:
    turns = calls = 0

    def show(context: Context) -> None:
        usage = context.context_usage()
        full = f" · window {usage.percent:.0f}%" if usage and usage.percent is not None else ""
        context.ui.set_status(KEY, f"turn {turns} · {calls} calls{full}")

    @api.on("agent_start")
    def begin(event, context: Context) -> None:
        nonlocal turns, calls
        turns = calls = 0

    @api.on("turn_start")
    def turn(event, context: Context) -> None:
        nonlocal turns
        turns += 1
        show(context)

    @api.on("tool_execution_end")
    def call(event, context: Context) -> None:
        nonlocal calls
        calls += 1
        show(context)

    @api.on("agent_settled")
    def end(event, context: Context) -> None:
        context.ui.set_status(KEY, None)
