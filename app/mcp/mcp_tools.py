"""Defines the three tools through which the model reaches MCP servers, and a tool for each tool of a server.

`mcp_call` runs the real call within its own: hooks, approvals and records see `mcp__server__tool` with its arguments,
just as for a direct call. A search is local: it contacts no server and starts none."""

import asyncio
import difflib
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from app.mcp.managed_server import ManagedMcpServer
from app.mcp.mcp_server_manifest import McpToolDescription
from app.mcp.server_changed_files import report_files_changed_by_mcp, watch_mcp_file_changes_for_undo
from app.mcp.server_registry import McpServerRegistry, OfferedMcpTool, mcp_tool_prefix_of_server
from app.values.user_errors import UserError
from tools.argument_schema import make_arguments_schema
from tools.call_effects import Effects
from tools.lazy_patterns import lazy_regex
from tools.running.running_command import finish_despite_cancellation
from tools.session_workspace import workspace_of_context
from tools.text_sanitizing import escape_controls, last_nonempty_lines, one_line, remove_invisible_chars
from tools.tool_definition import Tool, ToolContext, ToolError, declare_no_effects
from tools.tool_result_values import Card, ImageBlock, ImagePart, TextBlock, ToolResult, text_result

if TYPE_CHECKING:
    from app.mcp.mcp_result_conversion import McpAnswerConverter

_Result = TypeVar("_Result")
SEARCH_TOOL_NAME, CALL_TOOL_NAME, RESOURCE_TOOL_NAME = "mcp_search", "mcp_call", "mcp_resource"
_MAX_FULL, _MAX_NAMES, _RESOURCES_PER_PAGE = 5, 60, 200
_MCP_FIRST_CONTACT_TIMEOUT_SECONDS = 15.0
"""How long a search waits for servers in their first contact."""
_MAX_SERVER_INSTRUCTION_CHARS = 2_000
_BACKGROUND_SWITCH_CHECK_SECONDS = 0.1


class McpSearchArguments(msgspec.Struct, frozen=True, kw_only=True):
    query: Annotated[str, msgspec.Meta(description="Words, or a tool's exact name; empty lists names")]
    server: str | None = None


class McpCallArguments(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    tool: str
    arguments: Annotated[dict[str, Any], msgspec.Meta(description="As the tool's schema wants them")] = {}


class McpResourceArguments(msgspec.Struct, frozen=True, kw_only=True):
    server: str
    uri: Annotated[str | None, msgspec.Meta(description="Without it: a list")] = None
    offset: int = 0


class McpResourceAddress(msgspec.Struct, frozen=True, kw_only=True):
    uri: str


class McpTools:
    """Creates the tools through which the model of one session uses MCP servers."""

    def __init__(self, hub: McpServerRegistry) -> None:
        self._hub = hub
        self._servers_with_sent_instructions: set[str] = set()
        """Servers whose instructions the model has read."""
        self._outer_context_by_call: dict[str, ToolContext] = {}
        """Running calls of `mcp_call`; the progress of the inner call is shown there."""

    def mcp_gateway_tools(self) -> tuple[Tool, ...]:
        return (self._make_search_tool(), self._make_call_tool(), self._make_resource_tool())

    def direct_tools(self) -> tuple[Tool, ...]:
        return tuple(
            self.make_server_tool(entry)
            for entry in self._hub.callable_tools().values()
            if entry.reach == "direct"
        )

    def callable_tools(self) -> Mapping[str, Tool]:
        """Returns all tools of MCP servers by full name, also those that are not declared to the model, and the
        resource reader of each server."""
        tools = {name: self.make_server_tool(entry) for name, entry in self._hub.callable_tools().items()}
        return {**tools, **self.resource_readers()}

    def resource_readers(self) -> Mapping[str, Tool]:
        """Returns for each MCP server the tool that reads its resources, by name: within `mcp_resource` a read
        is judged under this name."""
        return {
            _resource_reader_name(life.config.name): self._make_resource_reader(life)
            for life in self._hub.usable_servers
        }

    # Finding

    def _make_search_tool(self) -> Tool:
        return Tool(
            name=SEARCH_TOOL_NAME,
            label="mcp search",
            description="Find tools of MCP servers by what they do; shows their arguments. Starts no server.",
            schema=make_arguments_schema(McpSearchArguments),
            arguments=McpSearchArguments,
            effects=declare_no_effects,
            run=self._run_search,
            show=mcp_search_card,
            is_read_only=True,
        )

    async def _run_search(self, arguments: McpSearchArguments, context: ToolContext) -> ToolResult:
        await self._hub.wait_for_first_contact(_MCP_FIRST_CONTACT_TIMEOUT_SECONDS)
        if arguments.server is not None:
            self._require_server(arguments.server)
        entries = [
            entry for entry in self._hub.callable_tools().values() if arguments.server in (None, entry.server)
        ]
        if not arguments.query.strip():
            return text_result(
                "\n".join([_tool_names_text(entries), *self._absent_server_lines()]).strip()
                or "There are no tools."
            )
        found = await asyncio.to_thread(_rank_offered_tools, arguments.query, entries)
        by_name = {(entry.server, entry.tool.name): entry for entry in entries}
        hits = [by_name[one.server, one.name] for one in found]
        if not hits:
            text = f"Nothing found for {arguments.query!r} among {len(entries)} tools."
            return text_result(
                "\n".join([text, _tool_names_text(entries), *self._absent_server_lines()]).strip()
            )
        parts = [_describe_offered_tool(entry) for entry in hits[:_MAX_FULL]]
        if len(hits) > _MAX_FULL:
            parts.append("Also: " + _join_tool_names(hits[_MAX_FULL:]))
        parts += self._new_instructions({entry.server for entry in hits[:_MAX_FULL]})
        return text_result(
            "\n\n".join([*parts, *self._absent_server_lines()]),
            details={"found": [entry.full_name for entry in hits[:_MAX_FULL]], "count": len(hits)},
        )

    def _new_instructions(self, servers: set[str]) -> list[str]:
        """Returns the instructions of those MCP servers whose tools a search found for the first time."""
        told: list[str] = []
        for name in sorted(servers - self._servers_with_sent_instructions):
            self._servers_with_sent_instructions.add(name)
            manifest = self._hub.require_server(name).manifest
            if manifest is not None and manifest.instructions:
                told.append(
                    f"Description of {name}:\n{manifest.instructions[:_MAX_SERVER_INSTRUCTION_CHARS]}"
                )
        return told

    def _absent_server_lines(self) -> list[str]:
        """Returns a line for each MCP server whose tools are unknown, with the reason."""
        missing = [life for life in self._hub.usable_servers if life.manifest is None]
        return [
            life.failure_text() if life.failure_reason else f"{life.config.name} has not answered yet."
            for life in missing
        ]

    def _require_server(self, server: str) -> None:
        try:
            life = self._hub.require_server(server)
        except UserError:
            known = ", ".join(life.config.name for life in self._hub.usable_servers) or "none"
            raise ToolError(f'There is no MCP server "{server}". Servers: {known}.') from None
        if not life.is_usable:
            raise ToolError(f'The MCP server "{server}" is not available: it is {life.state}.')

    # Calling

    def _make_call_tool(self) -> Tool:
        return Tool(
            name=CALL_TOOL_NAME,
            label="mcp",
            description="Call a tool of an MCP server, as mcp_search shows it.",
            schema=make_arguments_schema(McpCallArguments),
            arguments=McpCallArguments,
            effects=self._effects_of_call,
            run=self._run_call,
            show=mcp_call_card,
            is_read_only=True,  # harmless by itself: the inner call is judged under its own name
        )

    def _effects_of_call(self, arguments: McpCallArguments, context: ToolContext) -> Effects:
        """Returns the effects of `mcp_call`: none but the order of calls to a server, since the inner call is judged
        under its own name."""
        entry = self._hub.find_tool(arguments.server, arguments.tool)
        keeps_state = entry is not None and entry.tool.says_read_only
        return Effects(state=f"server {arguments.server}", keeps_state=keeps_state)

    async def _run_call(self, arguments: McpCallArguments, context: ToolContext) -> ToolResult:
        self._require_server(arguments.server)
        entry = self._hub.find_tool(arguments.server, arguments.tool)
        if entry is None:
            await self._hub.wait_for_first_contact(_MCP_FIRST_CONTACT_TIMEOUT_SECONDS)
            entry = self._hub.find_tool(arguments.server, arguments.tool)
        if entry is None:
            raise ToolError(self._unknown_tool_text(arguments))
        if context.caller is None:
            raise ToolError(f"{entry.full_name} cannot be called here.")
        self._outer_context_by_call[context.call_id] = context
        work = asyncio.ensure_future(context.caller.call(entry.full_name, arguments.arguments))
        try:
            return await _wait_or_background(context, f"{entry.server} · {entry.tool.name}", work)
        finally:
            if work.done():
                self._outer_context_by_call.pop(context.call_id, None)
            else:
                work.add_done_callback(lambda _: self._outer_context_by_call.pop(context.call_id, None))

    def _unknown_tool_text(self, arguments: McpCallArguments) -> str:
        life = self._hub.require_server(arguments.server)
        if life.manifest is None:
            return life.failure_text() if life.failure_reason else f"{arguments.server} has not answered yet."
        names = [
            entry.tool.name
            for entry in self._hub.callable_tools().values()
            if entry.server == arguments.server
        ]
        close = difflib.get_close_matches(arguments.tool, names, n=3)
        hint = (
            f"Did you mean {', '.join(close)}?"
            if close
            else f"It has {', '.join(names[:_MAX_NAMES]) or 'none'}."
        )
        return f'{arguments.server} has no tool "{arguments.tool}". {hint}'

    def make_server_tool(self, entry: OfferedMcpTool) -> Tool:
        tool, life = entry.tool, entry.managed_server

        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            outer = self._outer_context_by_call.get(context.call_id.rpartition("/")[0])
            work = asyncio.ensure_future(self._run_server_tool(entry, arguments, context, outer))
            return await _wait_or_background(context, f"{entry.server} · {tool.name}", work)

        return Tool(
            name=entry.full_name,
            label=f"{entry.server} · {tool.title or tool.name}",
            description=tool.description or tool.title or tool.name,
            schema=tool.declared_schema,
            run=run,
            show=make_mcp_card_function(entry.server, tool.title or tool.name),
            is_read_only=tool.says_read_only and life.config.trust_hints,
            effects=_make_effects_function(life, only_looks=tool.says_read_only),
            claim=_declared_effect_text(tool),
        )

    async def _run_server_tool(
        self,
        entry: OfferedMcpTool,
        arguments: Mapping[str, Any],
        context: ToolContext,
        outer: ToolContext | None,
    ) -> ToolResult:
        def progressed(done: float, total: float | None, message: str | None) -> None:
            told = text_result(_progress_text(done, total, message))
            context.progress(told)
            if outer is not None:
                outer.progress(told)

        watched = await watch_mcp_file_changes_for_undo(entry, context)
        try:
            asked = entry.managed_server.call_tool(entry.tool.name, arguments, progressed)
            return await report_files_changed_by_mcp(
                entry.managed_server,
                context,
                _await_with_tool_errors(asked),
                _make_answer_converter(entry.server, context).convert_tool_answer,
            )
        finally:
            if watched is not None:
                await finish_despite_cancellation(watched())

    # Resources

    def _make_resource_tool(self) -> Tool:
        return Tool(
            name=RESOURCE_TOOL_NAME,
            label="mcp resource",
            description="Read a resource of an MCP server by its URI, or list what it has.",
            schema=make_arguments_schema(McpResourceArguments),
            arguments=McpResourceArguments,
            effects=declare_no_effects,
            run=self._run_resource,
            show=mcp_resource_card,
            # harmless by itself: lists are known, and an inner read is judged under its server's name
            is_read_only=True,
        )

    async def _run_resource(self, arguments: McpResourceArguments, context: ToolContext) -> ToolResult:
        self._require_server(arguments.server)
        life = self._hub.require_server(arguments.server)
        if arguments.uri is not None:
            name = _resource_reader_name(arguments.server)
            if context.caller is None:
                raise ToolError(f"{name} cannot be called here.")
            return await context.caller.call(name, {"uri": arguments.uri})
        if life.manifest is None:
            await _await_with_tool_errors(life.connect_if_needed())
        return text_result(_resource_list_text(self._hub, arguments))

    def _make_resource_reader(self, life: ManagedMcpServer) -> Tool:
        server = life.config.name

        async def run(arguments: McpResourceAddress, context: ToolContext) -> ToolResult:
            return await report_files_changed_by_mcp(
                life,
                context,
                _await_with_tool_errors(life.read_resource(arguments.uri)),
                _make_answer_converter(server, context).convert_resource_answer,
            )

        return Tool(
            name=_resource_reader_name(server),
            label=f"{server} · resource",
            description="Read a resource of this server.",
            schema=make_arguments_schema(McpResourceAddress),
            arguments=McpResourceAddress,
            run=run,
            show=lambda arguments, result: mcp_resource_card({**arguments, "server": server}, result),
            is_read_only=life.config.trust_hints,
            effects=_make_effects_function(life, only_looks=True),
            claim="reading should change nothing",
        )


def _make_effects_function(
    life: ManagedMcpServer, *, only_looks: bool
) -> Callable[[Any, ToolContext], Effects]:
    """Returns a function that gives the effects of calling an MCP server's tool: the server, and all that it
    may do. Its read-only hint affects the order of calls, and the approval only where the user trusts its hints."""
    name = life.config.name
    effects = Effects(
        server=mcp_tool_prefix_of_server(name),
        opaque=not (only_looks and life.config.trust_hints),
        state=f"server {name}",
        keeps_state=only_looks,
    )
    return lambda arguments, context: effects


def _resource_reader_name(server: str) -> str:
    """Returns the name under which permission rules apply to reads of a server's resources; no tool has this name."""
    return f"{mcp_tool_prefix_of_server(server)}resources.read"


async def _await_with_tool_errors(asked: Awaitable[_Result]) -> _Result:
    """Awaits an MCP server's answer; errors become error results with a text for the model."""
    try:
        return await asked
    except UserError as problem:
        raise ToolError(escape_controls(str(problem))) from None


def _make_answer_converter(server: str, context: ToolContext) -> "McpAnswerConverter":
    from app.mcp.mcp_result_conversion import McpAnswerConverter  # noqa: PLC0415  (with the first answer)

    workspace = workspace_of_context(context)
    return McpAnswerConverter(
        server,
        workspace.artifacts,
        reads_images=context.model_reads_images,
        resizes_images=workspace.read_settings().resizes_images,
    )


async def _wait_or_background(
    context: ToolContext, title: str, work: "asyncio.Task[ToolResult]"
) -> ToolResult:
    """Waits for a call's result and returns it; if the user moves the call to the background, returns a note about the
    job that it became."""

    def kill() -> None:
        work.cancel()

    try:
        while not work.done():
            await asyncio.wait({work}, timeout=_BACKGROUND_SWITCH_CHECK_SECONDS)
            if not work.done() and context.jobs is not None and context.background_requested():
                job = context.jobs.adopt(
                    call_id=context.call_id, title=title, work=work, tail=lambda: "", kill=kill
                )
                return text_result(
                    f"Background job {job} started: {escape_controls(title)}\n"
                    "Its result arrives by itself when it ends; go on with other work."
                )
        return work.result()
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work}, timeout=1)
        raise


def _rank_offered_tools(query: str, entries: list[OfferedMcpTool]) -> "list[McpToolSearchCandidate]":
    from app.mcp.mcp_tools import rank_mcp_tools  # noqa: PLC0415  (with the first search)

    return rank_mcp_tools(query, [_to_search_candidate(entry) for entry in entries])


def _to_search_candidate(entry: OfferedMcpTool) -> "McpToolSearchCandidate":
    properties: Mapping[str, Any] = entry.tool.schema.get("properties", {})
    said = " ".join(f"{name} {node.get('description', '')}" for name, node in properties.items())
    return McpToolSearchCandidate(
        server=entry.server,
        name=entry.tool.name,
        description=f"{entry.tool.title} {entry.tool.description}",
        parameters=said,
    )


def _declared_effect_text(tool: McpToolDescription) -> str:
    if tool.says_read_only:
        return "declared read-only"
    return "declared dangerous" if tool.says_destructive else ""


def _describe_offered_tool(entry: OfferedMcpTool) -> str:
    claim = _declared_effect_text(entry.tool)
    head = f"{entry.server} {entry.tool.name}" + (f" ({claim})" if claim else "")
    schema = msgspec.json.encode(entry.tool.declared_schema).decode()
    return f"{head}\n{entry.tool.description}\narguments: {schema}".replace("\n\n", "\n")


def _tool_names_text(entries: list[OfferedMcpTool]) -> str:
    servers = sorted({entry.server for entry in entries})
    return "\n".join(
        f"{server}: {_join_tool_names([entry for entry in entries if entry.server == server], with_server=False)}"
        for server in servers
    )


def _join_tool_names(entries: list[OfferedMcpTool], *, with_server: bool = True) -> str:
    names = [f"{entry.server} {entry.tool.name}" if with_server else entry.tool.name for entry in entries]
    more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return one_line(", ".join(names[:_MAX_NAMES])) + more


def _resource_list_text(hub: McpServerRegistry, arguments: McpResourceArguments) -> str:
    manifest = hub.require_server(arguments.server).manifest
    if manifest is None or not (manifest.resources or manifest.templates):
        return f"{arguments.server} lists no resources."
    found = [*manifest.resources, *manifest.templates]
    page = found[arguments.offset : arguments.offset + _RESOURCES_PER_PAGE]
    lines = [
        " – ".join(filter(None, (one.uri, one.name, one.mime_type, one.description.split("\n", 1)[0][:120])))
        for one in page
    ]
    left = len(found) - arguments.offset - len(page)
    if left > 0:
        lines.append(f"[{left} more: offset {arguments.offset + len(page)}]")
    return (
        "\n".join(lines) or f"{arguments.server} lists {len(found)} resources; there are none at that offset."
    )


def _progress_text(done: float, total: float | None, message: str | None) -> str:
    count = f"{done:g}/{total:g}" if total else f"{done:g}"
    return f"{count} {one_line(remove_invisible_chars(message or ''))[:300]}".strip()


_MAX_MCP_CARD_SUBJECT_CHARS = 200


def mcp_search_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    where = f" in {arguments['server']}" if arguments.get("server") else ""
    details = (result.details if result else None) or {}
    count = details.get("count")
    return Card(
        title="mcp search",
        subject=one_line(f"{arguments.get('query', '')}{where}"),
        summary=f"{count} found" if isinstance(count, int) else "",
        blocks=_result_blocks(result),
    )


def mcp_call_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    given = arguments.get("arguments")
    given = given if isinstance(given, Mapping) else {}
    title = f"{arguments.get('server', 'mcp')} · {arguments.get('tool', '')}"
    return _call_card(title, given, result)


def mcp_resource_card(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = one_line(str(arguments.get("uri") or "list"))
    title = one_line(f"{arguments.get('server', 'mcp')} · resource")
    return Card(title=title, subject=subject, blocks=_result_blocks(result))


def make_mcp_card_function(server: str, name: str) -> Callable[[Mapping[str, Any], ToolResult | None], Card]:
    def show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
        return _call_card(f"{server} · {name}", arguments, result)

    return show


def _call_card(title: str, arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    shown = last_nonempty_lines(result.text) if result is not None and not result.is_error else ()
    return Card(
        title=one_line(title),
        subject=_call_subject(arguments),
        blocks=_result_blocks(result),
        last_lines=shown,
    )


def _call_subject(arguments: Mapping[str, Any]) -> str:
    said = ", ".join(f"{name}={value}" for name, value in arguments.items())
    return one_line(said.split("\n", 1)[0][:_MAX_MCP_CARD_SUBJECT_CHARS])


def _result_blocks(result: ToolResult | None) -> tuple[TextBlock | ImageBlock, ...]:
    if result is None:
        return ()
    own = (result.details or {}).get("forPerson")
    texts = [text for text in (result.text, own) if isinstance(text, str) and text]
    images = [part for part in result.content if isinstance(part, ImagePart)]
    return (
        *(TextBlock(text=escape_controls(text)) for text in texts),
        *(
            ImageBlock(mime_type=image.mime_type, byte_count=len(image.data) * 3 // 4, data=image.data)
            for image in images
        ),
    )


_TOOL_SEARCH_WORD_PATTERN = lazy_regex(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_TOOL_SEARCH_FIELD_WEIGHTS = (("name", 4.0), ("server", 2.5), ("description", 1.5), ("parameters", 1.0))
_MIN_WORD_STEM_CHARS = 3


class McpToolSearchCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of an MCP server that a search may find, with the texts to match."""

    server: str
    name: str
    description: str = ""
    parameters: str = ""
    """The names and descriptions of the parameters."""


def rank_mcp_tools(query: str, candidates: Sequence[McpToolSearchCandidate]) -> list[McpToolSearchCandidate]:
    """Returns the tools that match a search query, best first; exact names come before all others."""
    wanted = list(dict.fromkeys(_stems(query)))
    plain = query.strip().casefold()
    fields = [
        {field: Counter(_stems(getattr(one, field))) for field, _ in _TOOL_SEARCH_FIELD_WEIGHTS}
        for one in candidates
    ]
    frequency = Counter(
        word for each in fields for word in {word for words in each.values() for word in words}
    )
    scored: list[tuple[float, int]] = []
    for number, each in enumerate(fields):
        score = _match_score(wanted, each, frequency, len(candidates))
        one = candidates[number]
        if plain and plain in (one.name.casefold(), f"{one.server} {one.name}".casefold()):
            score += 1_000
        elif plain and plain == one.server.casefold():
            score += 100
        if score > 0:
            scored.append((-score, number))
    return [candidates[number] for _, number in sorted(scored)]


def _match_score(
    wanted: list[str], fields: dict[str, Counter[str]], frequency: Counter[str], count: int
) -> float:
    score, hits = 0.0, 0
    for word in wanted:
        best = 0.0
        for field, weight in _TOOL_SEARCH_FIELD_WEIGHTS:
            words = fields[field]
            if word in words:
                best = max(best, weight * (1 + 0.2 * math.log(words[word])))
            elif len(word) > _MIN_WORD_STEM_CHARS and any(
                known.startswith(word) or word.startswith(known)
                for known in words
                if len(known) > _MIN_WORD_STEM_CHARS
            ):
                best = max(best, weight * 0.5)
        if best:
            hits += 1
            score += best * math.log(1 + count / (1 + frequency.get(word, 0)) + 1)
    return score * (hits / len(wanted)) if wanted else 0.0


def _stems(text: str) -> list[str]:
    found = _TOOL_SEARCH_WORD_PATTERN.findall(text)
    return [_stem_of_word(word.casefold()) for word in found]


def _stem_of_word(word: str) -> str:
    """Reduces a word of a search to its stem, so that `issue`, `search` and `delete` find `issues`, `searching` and
    `deleted`."""
    if not word.isascii() or len(word) <= _MIN_WORD_STEM_CHARS + 1:
        return word
    return re.sub(r"(?:ies$)", "y", word) if word.endswith("ies") else re.sub(r"(?:ing|ed|es|s|e)$", "", word)
