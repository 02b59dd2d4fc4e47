"""Prompts and questions of MCP servers. `/server:prompt` expands to the server's prompt and `@server:uri`
attaches a resource, in every interface. A server's question in the middle of a call is asked as a form; where there
is no user, the server gets a no."""

import base64
import binascii
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from app.engine.core.event_bus import EventBus
from app.engine.core.prompt_intake import PromptInput, SessionRequestRefused
from app.engine.mcp.session_servers import McpServers
from app.engine.questions.form_questions import UserFormQuestions
from app.mcp.elicitation_forms import make_elicitation_form
from app.mcp.server_config_entries import mcp_server_name_key
from app.values.content import Image
from app.values.mcp_servers import PromptView
from app.values.user_errors import UserError
from tools.text_sanitizing import escape_controls, show_invisible_chars

_MCP_PROMPT_COMMAND_PATTERN = re.compile(
    r"/(?P<server>[A-Za-z0-9_-]+):(?P<name>\S+)(?:\s+(?P<rest>.*))?\Z", re.DOTALL
)
_MCP_RESOURCE_MENTION_PATTERN = re.compile(
    r"(?:(?<=\s)|\A)@(?P<server>[A-Za-z0-9_-]+):(?P<uri>[A-Za-z][A-Za-z0-9+.-]*:\S+)"
)
_MCP_PROMPT_ARGUMENT_PATTERN = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)
_MAX_MCP_RESOURCE_CHARACTERS = 50_000
"""The maximum number of characters of one attached resource; the model can read more with `mcp_resource`."""
_MAX_ATTACHED_MCP_RESOURCES = 20
_MCP_IMAGE_MIME_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

AskServerQuestion = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class McpServerPrompts:
    def __init__(self, servers: McpServers, ask: AskServerQuestion) -> None:
        self._servers = servers
        self._ask = ask

    async def expand_prompt(self, words: PromptInput) -> PromptInput:
        """Expands MCP prompts and resources in the user's input; returns other input unchanged. Raises
        `UserError`."""
        prompt = self._find_prompt(words.text)
        if prompt is not None:
            words = await self._expand_prompt(words, *prompt)
        return await self._attach_resources(words)

    def _find_prompt(self, text: str) -> tuple[PromptView, str] | None:
        found = _MCP_PROMPT_COMMAND_PATTERN.fullmatch(text.strip()) if text.startswith("/") else None
        hub = self._servers.registry() if found is not None else None
        if found is None or hub is None:
            return None
        key = mcp_server_name_key(found["server"])
        for prompt in hub.prompt_views():
            if mcp_server_name_key(prompt.server) == key and prompt.name == found["name"]:
                return prompt, found["rest"] or ""
        return None

    async def _expand_prompt(self, words: PromptInput, prompt: PromptView, text: str) -> PromptInput:
        arguments = parse_mcp_prompt_arguments(prompt, text)
        missing = [name for name in prompt.required if not arguments.get(name)]
        if missing:
            arguments |= await self._ask_missing_arguments(prompt, missing)
        hub = self._servers.registry()
        assert hub is not None
        answer = await hub.require_server(prompt.server).get_prompt(prompt.name, arguments)
        text, images = prompt_from_mcp_messages(prompt.server, answer)
        if not text.strip() and not images:
            raise SessionRequestRefused(
                f"/{prompt.server}:{prompt.name} returned an empty prompt; nothing was sent."
            )
        return msgspec.structs.replace(words, text=text, images=(*words.images, *images))

    async def _ask_missing_arguments(self, prompt: PromptView, missing: Sequence[str]) -> dict[str, str]:
        """Asks the user for the missing arguments of an MCP prompt."""
        command = f"/{prompt.server}:{prompt.name}"
        schema = {"properties": {name: {"type": "string"} for name in missing}, "required": list(missing)}
        message = f"{command} needs arguments. {prompt.description}".strip()
        answer = await self._ask(prompt.server, {"message": message, "requestedSchema": schema})
        content = answer.get("content")
        if answer.get("action") != "accept" or not isinstance(content, dict):
            usage = " ".join(f"{name}=…" for name in missing)
            raise SessionRequestRefused(f"{command} needs {', '.join(missing)}. Usage: {command} {usage}")
        return {str(name): str(value) for name, value in cast("dict[str, Any]", content).items()}

    async def _attach_resources(self, words: PromptInput) -> PromptInput:
        hub = self._servers.registry() if "@" in words.text and ":" in words.text else None
        if hub is None:
            return words
        known = {life.config.key: life for life in hub.usable_servers}
        wanted = {
            (mcp_server_name_key(found["server"]), found["uri"].rstrip(".,;)"))
            for found in _MCP_RESOURCE_MENTION_PATTERN.finditer(words.text)
            if mcp_server_name_key(found["server"]) in known
        }
        if len(wanted) > _MAX_ATTACHED_MCP_RESOURCES:
            raise SessionRequestRefused(
                f"{len(wanted)} resources are too many for one prompt; at most {_MAX_ATTACHED_MCP_RESOURCES} can be "
                "attached."
            )
        parts, images = [words.text], [*words.images]
        for key, uri in sorted(wanted):
            life = known[key]
            answer = await life.read_resource(uri)
            for text, image in _resource_contents(answer.get("contents")):
                if image is not None:
                    images.append(image)
                else:
                    parts.append(
                        f'<resource server="{life.config.name}" uri="{_clean_text(uri)}">\n{text}\n</resource>'
                    )
        return msgspec.structs.replace(words, text="\n\n".join(parts), images=tuple(images))


def parse_mcp_prompt_arguments(prompt: PromptView, text: str) -> dict[str, str]:
    """Parses the arguments of an MCP prompt: `name=value` by name, other words in order, the last one taking
    the rest. Raises `UserError`."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    named: dict[str, str] = {}
    loose: list[str] = []
    for word in words:
        found = _MCP_PROMPT_ARGUMENT_PATTERN.fullmatch(word)
        if found is not None and found[1] in prompt.arguments:
            named[found[1]] = found[2]
        else:
            loose.append(word)
    free = [name for name in prompt.arguments if name not in named]
    if loose and not free:
        told = ", ".join(prompt.arguments) or "nothing"
        raise UserError(f'/{prompt.server}:{prompt.name} takes {told}; remove "{" ".join(loose)}".')
    for number, name in enumerate(free):
        rest = loose[number:]
        if rest:
            named[name] = " ".join(rest) if number == len(free) - 1 else rest[0]
    return named


def prompt_from_mcp_messages(server: str, answer: Mapping[str, Any]) -> tuple[str, tuple[Image, ...]]:
    """Joins the messages of `prompts/get` into one prompt; assistant messages are marked as such."""
    parts: list[str] = []
    images: list[Image] = []
    listed = answer.get("messages")
    messages: list[Any] = cast("list[Any]", listed) if isinstance(listed, list) else []
    for message in messages:
        content = _as_object(_as_object(message).get("content"))
        role = _as_object(message).get("role")
        match content.get("type"):
            case "text":
                text = _clean_text(content.get("text"))
                parts.append(text if role == "user" else f"(An earlier answer was:)\n{text}")
            case "image":
                images.extend(_decode_images(content.get("data"), content.get("mimeType")))
            case "resource":
                for text, image in _resource_contents([content.get("resource")]):
                    if image is not None:
                        images.append(image)
                    else:
                        parts.append(f'<resource server="{server}">\n{text}\n</resource>')
            case "resource_link":
                parts.append(f"@{server}:{_clean_text(content.get('uri'))}")
            case _:
                parts.append(f"[{server} sent {_clean_text(content.get('type'))[:40]}, which cannot be said]")
    return "\n\n".join(filter(None, parts)), tuple(images)


def _resource_contents(listed: Any) -> Iterator[tuple[str, Image | None]]:
    contents: list[Any] = cast("list[Any]", listed) if isinstance(listed, list) else []
    for each in contents:
        one = _as_object(each)
        if isinstance(one.get("text"), str):
            text = _clean_text(one["text"])
            cut = (
                f"\n[{len(text) - _MAX_MCP_RESOURCE_CHARACTERS:,} more characters are left out]"
                if len(text) > _MAX_MCP_RESOURCE_CHARACTERS
                else ""
            )
            yield text[:_MAX_MCP_RESOURCE_CHARACTERS] + cut, None
            continue
        images = list(_decode_images(one.get("blob"), one.get("mimeType")))
        if images:
            yield "", images[0]
        else:
            yield f"[{_clean_text(one.get('mimeType')) or 'bytes'}, which cannot be shown]", None


def _decode_images(data: Any, kind: Any) -> Iterator[Image]:
    if kind in _MCP_IMAGE_MIME_TYPES and isinstance(data, str):
        try:
            base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return
        yield Image(data=data, mime_type=kind)


def _as_object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _clean_text(text: Any) -> str:
    return show_invisible_chars(escape_controls(text)) if isinstance(text, str) else ""


class McpServerQuestions:
    """Answers the questions that a session's MCP servers ask."""

    def __init__(self, forms: UserFormQuestions, event_bus: EventBus) -> None:
        self._forms = forms
        self._event_bus = event_bus
        self._reported: set[str] = set()

    async def ask_user(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        """Asks the user a question of an MCP server and returns the result of `elicitation/create`."""
        try:
            form = make_elicitation_form(server, params)
        except UserError as problem:
            self._warn_once(str(problem))
            return {"action": "decline"}
        if not self._forms.can_ask:
            self._warn_once(
                f"The MCP server {server} asked a question that only the user can answer; it was declined "
                f"automatically."
            )
        reply = await self._forms.ask_form(form)
        if reply.action != "accept" or form.url:
            return {"action": reply.action}
        return {"action": "accept", "content": dict(reply.content)}

    def _warn_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._event_bus.warn(text)
