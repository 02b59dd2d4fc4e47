"""Completions from MCP servers: resources after `@server:`, and arguments of the servers' prompts."""

from collections.abc import AsyncIterator, Sequence

from app.engine.mcp.session_servers import McpServers
from app.values.mcp_servers import PromptView
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex
from widgets.completion.command_completions import ArgumentSuggester
from widgets.completion.completion_source import CompletionRequest, CompletionResult, CompletionSuggestion
from widgets.fuzzy_matching import rank_fuzzy_matches

_MCP_RESOURCE_COMPLETION_PATTERN = lazy_regex(r"(?:^|(?<=[\s(\[{,;]))@([A-Za-z0-9_-]+):(\S*)$")
_MAX_MCP_SUGGESTIONS = 100


class McpResourceCompletions:
    """Suggests resources of servers from the known lists; no server is queried while the user types."""

    def __init__(self, verbs: McpServers) -> None:
        self._servers = verbs

    def accepts(self, request: CompletionRequest) -> bool:
        found = _MCP_RESOURCE_COMPLETION_PATTERN.search(request.before) if "@" in request.before else None
        return found is not None and any(
            server == found[1] for server, _, _ in self._servers.known_resources()
        )

    async def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]:
        found = _MCP_RESOURCE_COMPLETION_PATTERN.search(request.before)
        if found is None:
            return
        server, typed = found[1], found[2]
        rows = [(uri, name) for each, uri, name in self._servers.known_resources() if each == server]
        fitting = [row for row, _ in rank_fuzzy_matches(typed, rows, lambda row: f"{row[0]} {row[1]}")][
            :_MAX_MCP_SUGGESTIONS
        ]
        items = tuple(
            CompletionSuggestion(text=f"@{server}:{uri}", label=uri, detail=name) for uri, name in fitting
        )
        yield CompletionResult(
            start=request.column - len(found[0]), end=request.column, items=items, query=typed
        )


def mcp_prompt_argument_completions(verbs: McpServers) -> dict[str, ArgumentSuggester]:
    """Returns argument completions for the commands of MCP prompts; the server suggests the values."""
    return {
        f"{each.server}:{each.name}": _argument_suggester(verbs, each)
        for each in verbs.known_prompts()
        if each.arguments
    }


def mcp_prompt_argument_hints(verbs: McpServers) -> dict[str, str]:
    return {f"{each.server}:{each.name}": mcp_prompt_argument_hint(each) for each in verbs.known_prompts()}


def mcp_prompt_argument_hint(prompt: PromptView) -> str:
    shown = [name if name in prompt.required else f"[{name}]" for name in prompt.arguments]
    return " ".join(shown)


def _argument_suggester(verbs: McpServers, prompt: PromptView) -> ArgumentSuggester:
    async def suggest(typed: str) -> Sequence[CompletionSuggestion]:
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
            CompletionSuggestion(text=f"{start}{each}", label=each, kind="argument")
            for each in values[:_MAX_MCP_SUGGESTIONS]
        ]

    return suggest
