"""Keeps the agent from writing certain files, whatever a prompt says.

More patterns come from the settings: `"protectedPaths": ["*.lock"]`.
"""

from fnmatch import fnmatch
from pathlib import Path

from bayou import Context, ExtensionApi, ToolCallAnswer, ToolCallPayload

PROTECTED = (".env", ".env.*", "*.pem", "id_*", ".git/*", "node_modules/*")


def extension(api: ExtensionApi) -> None:
    @api.on("tool_call")
    def check(event: ToolCallPayload, context: Context) -> ToolCallAnswer | None:
        if event.tool_name not in ("write", "edit"):
            return None
        patterns = (*PROTECTED, *map(str, api.settings().get("protectedPaths", ())))
        name = is_protected(context.cwd, str(event.input.get("path", "")), patterns)
        if name is None:
            return None
        context.ui.notify(f"Blocked: {event.tool_name} {name}", "warning")
        return ToolCallAnswer(
            block=True, reason=f"{name} is protected. Tell the person what you wanted to change."
        )


def is_protected(cwd: Path, path: str, patterns: tuple[str, ...]) -> str | None:
    """The path as people know it, if one of its parts or its tail fits a pattern. Links are followed first."""
    real = (cwd / Path(path).expanduser()).resolve()
    name = (
        real.relative_to(cwd.resolve()).as_posix() if real.is_relative_to(cwd.resolve()) else real.as_posix()
    )
    parts = name.strip("/").split("/")
    tails = ["/".join(parts[at:]) for at in range(len(parts))]
    hit = any(fnmatch(tail, pattern) for tail in [*tails, *parts] for pattern in patterns)
    return name if hit else None
