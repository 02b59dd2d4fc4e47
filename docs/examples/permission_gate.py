"""Asks before a shell command that is hard to take back.

Where nobody can be asked (print, JSON), such a command is blocked.
"""

import re

from bayou import Context, ExtensionApi, ToolCallAnswer, ToolCallPayload

RISKY = re.compile(
    r"\brm\s+(-\w*\s+)*-\w*[rf]|\bsudo\b|\bgit\s+(push\b.*--force|reset\s+--hard|clean\s+-\w*f)|\bmkfs|\bdd\s+.*\bof=|>\s*/dev/sd"
)
YES, ALWAYS, NO = "Run it", "Run it, and do not ask for this command again", "Block it"


def extension(api: ExtensionApi) -> None:
    allowed: set[str] = set()

    @api.on("tool_call")
    async def check(event: ToolCallPayload, context: Context) -> ToolCallAnswer | None:
        command = str(event.input.get("command", ""))
        if event.tool_name != "bash" or command in allowed or not RISKY.search(command):
            return None
        if not context.has_ui:
            return ToolCallAnswer(
                block=True, reason="This command needs a person's consent, and nobody is here."
            )
        answer = await context.ui.select(f"Allow?  {command}", [YES, ALWAYS, NO])
        if answer == ALWAYS:
            allowed.add(command)
        if answer in (YES, ALWAYS):
            return None
        return ToolCallAnswer(
            block=True, reason="The person did not allow this command. Ask what to do instead."
        )
