"""Works on another machine: `bayou --ssh user@host:/folder -e ssh.py`.

bash, read and write are replaced by ones that go through `ssh`; the person's own `!` commands too.
"""

import shlex
from typing import Annotated

import msgspec

from app.extensions.public import (
    Context,
    ExtensionApi,
    ToolCallContext,
    ToolError,
    ToolResult,
    UserBash,
    UserBashAnswer,
    text_result,
)


class Bash(msgspec.Struct, frozen=True, kw_only=True):
    command: str
    timeout: Annotated[float, msgspec.Meta(gt=0, description="Seconds")] | None = None


class Read(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    offset: Annotated[int, msgspec.Meta(ge=1, description="Line to start at")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, le=2000, description="Lines")] = 2000


class Write(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    content: str


def extension(api: ExtensionApi) -> None:
    api.register_flag("ssh", type="string", description="Work on this machine: user@host:/folder")
    target = api.flag("ssh")
    if not isinstance(target, str):
        return
    machine, _, folder = target.partition(":")

    def remote(command: str) -> list[str]:
        inside = f"cd {shlex.quote(folder)} && {command}" if folder else command
        return ["-o", "BatchMode=yes", "--", machine, inside]

    async def run(command: str, *, stdin: str | None = None, timeout: float | None = None) -> ToolResult:
        done = await api.exec("ssh", remote(command), stdin=stdin, timeout=timeout)
        if done.code == 255:
            raise ToolError(f"{machine} cannot be reached: {done.stderr.strip()}")
        text = (done.stdout + done.stderr).rstrip() or "(no output)"
        if done.was_killed:
            text += f"\n\nCommand timed out after {timeout:g} seconds"
        elif done.code:
            text += f"\n\nCommand exited with code {done.code}"
        return text_result(text, is_error=done.code != 0)

    @api.tool(
        "bash", f"Run a shell command on {machine}.", arguments=Bash, snippet=f"Run commands on {machine}"
    )
    async def bash(arguments: Bash, context: ToolCallContext) -> ToolResult:
        return await run(arguments.command, timeout=arguments.timeout)

    @api.tool("read", f"Read a file on {machine}.", arguments=Read, snippet=f"Read files on {machine}")
    async def read(arguments: Read, context: ToolCallContext) -> ToolResult:
        last = arguments.offset + arguments.limit - 1
        return await run(f"sed -n {arguments.offset},{last}p -- {shlex.quote(arguments.path)}")

    @api.tool("write", f"Write a file on {machine}.", arguments=Write, snippet=f"Write files on {machine}")
    async def write(arguments: Write, context: ToolCallContext) -> ToolResult:
        path = shlex.quote(arguments.path)
        result = await run(f'mkdir -p -- "$(dirname -- {path})" && cat > {path}', stdin=arguments.content)
        return result if result.is_error else text_result(f"Successfully wrote to {machine}:{arguments.path}")

    @api.on("user_bash")
    def own_commands(event: UserBash, context: Context) -> UserBashAnswer:
        return UserBashAnswer(command=shlex.join(["ssh", *remote(event.command)]))

    @api.on("session_start")
    def tell(event, context: Context) -> None:
        context.ui.set_status("ssh", f"on {target}")
