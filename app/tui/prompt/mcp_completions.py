"""Completions from MCP servers: resources after `@server:`, and arguments of the servers' prompts."""

from collections.abc import AsyncIterator, Sequence

from app.engine.mcp.session_servers import McpServers
from app.values.mcp_servers import PromptView
from app.values.user_errors import UserError
from tools.patterns import late
from widgets.completion.commands import ArgumentSource
from widgets.completion.source import CompletionRequest, Completions, Suggestion
from widgets.fuzzy import rank

_RESOURCE_MENTION = late(r"(?:^|(?<=[\s(\[{,;]))@([A-Za-z0-9_-]+):(\S*)$")
_MAX_SUGGESTIONS = 100


class ResourceCompletions:
    """Suggests resources of servers from the known lists; no server is queried while the user types."""

    def __init__(self, verbs: McpServers) -> None:
        self._servers = verbs

    def accepts(self, request: CompletionRequest) -> bool:
        found = _RESOURCE_MENTION.search(request.before) if "@" in request.before else None
        return found is not None and any(
            server == found[1] for server, _, _ in self._servers.known_resources()
        )

    async def complete(self, request: CompletionRequest) -> AsyncIterator[Completions]:
        found = _RESOURCE_MENTION.search(request.before)
        if found is None:
            return
        server, typed = found[1], found[2]
        rows = [(uri, name) for each, uri, name in self._servers.known_resources() if each == server]
        fitting = [row for row, _ in rank(typed, rows, lambda row: f"{row[0]} {row[1]}")][:_MAX_SUGGESTIONS]
        items = tuple(Suggestion(text=f"@{server}:{uri}", label=uri, detail=name) for uri, name in fitting)
        yield Completions(start=request.column - len(found[0]), end=request.column, items=items, query=typed)


def argument_completions(verbs: McpServers) -> dict[str, ArgumentSource]:
    """Returns argument completions for the commands of MCP prompts; the server suggests the values."""
    return {
        f"{each.server}:{each.name}": _argument_suggester(verbs, each)
        for each in verbs.known_prompts()
        if each.arguments
    }


def argument_hints(verbs: McpServers) -> dict[str, str]:
    return {f"{each.server}:{each.name}": prompt_argument_hint(each) for each in verbs.known_prompts()}


def prompt_argument_hint(prompt: PromptView) -> str:
    shown = [name if name in prompt.required else f"[{name}]" for name in prompt.arguments]
    return " ".join(shown)


def _argument_suggester(verbs: McpServers, prompt: PromptView) -> ArgumentSource:
    async def suggest(typed: str) -> Sequence[Suggestion]:
        before, _, word = typed.rpartition(" ")
        said = before.split()
        name, is_named, value = word.partition("=")
        if not is_named or name not in prompt.arguments:
            free = [
                each for each in prompt.arguments if not any(word.startswith(f"{each}=") for word in said)
            ]
            loose = [word for word in said if word.partition("=")[0] not in prompt.arguments]
            if len(loose) >= len(free):
                return []
            name, value, is_named = free[len(loose)], word, ""
        try:
            ref = {"type": "ref/prompt", "name": prompt.name}
            answer = await verbs.complete_argument(prompt.server, ref, name, value, {})
        except UserError:
            return []  # many servers do not support completion
        values = answer["completion"]["values"]
        start = f"{before} " if before else ""
        start += f"{name}=" if is_named else ""
        return [
            Suggestion(text=f"{start}{each}", label=each, kind="argument")
            for each in values[:_MAX_SUGGESTIONS]
        ]

    return suggest
