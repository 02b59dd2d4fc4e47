"""Converts an MCP server's answer to a tool result: for the model, for people, and in a file when it is long.

It takes JSON as it is on the wire, so that no type of the SDK is needed here."""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.mcp.mcp_server_manifest import remove_unsafe_characters
from app.values.json_texts import replace_texts_in_json
from tools.files.images import identify_image, prepare_image_for_model
from tools.files.output_artifacts import OutputArtifacts
from tools.result_limits import format_size, keep_first_lines
from tools.text_sanitizing import escape_controls, one_line, show_invisible_chars
from tools.tool_result_values import ImagePart, TextPart, ToolResult

_MAX_MCP_RESULT_TEXT_CHARS = 20_000_000
_SUPPORTED_RESULT_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class ConvertedMcpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an MCP server's answer, sorted by who reads it: model or person."""

    texts: tuple[str, ...] = ()
    images: tuple[ImagePart, ...] = ()
    texts_for_person: tuple[str, ...] = ()


class McpAnswerConverter:
    """Converts the answers to one call of an MCP server; long texts and content that cannot be shown are
    stored in files beside the session."""

    def __init__(
        self, server: str, artifacts: OutputArtifacts, *, reads_images: bool, resizes_images: bool = True
    ) -> None:
        """Creates the converter for a call. `resizes_images`: whether images that are too large for a model are scaled
        down."""
        self._server = server
        self._resizes_images = resizes_images
        self._artifacts = artifacts
        self._reads_images = reads_images

    def convert_tool_answer(self, answer: Mapping[str, Any]) -> ToolResult:
        """Converts the result of an MCP server's `tools/call`. An error of the server becomes an error result
        with the server's text."""
        taken = self._convert_content(answer.get("content") or ())
        structured = answer.get("structuredContent")
        texts = taken.texts
        if structured is not None and not texts and not taken.images:
            texts = (
                _show_deceptive_chars(
                    msgspec.json.format(msgspec.json.encode(structured), indent=2).decode()
                ),
            )
        text = "\n\n".join(texts)
        is_error = answer.get("isError") is True
        if is_error:
            text = f"{self._server}: {text or 'it failed and did not say why'}"
        parts = [*self._limit_text(text), *taken.images]
        if not parts:
            parts = [
                TextPart(text="(done; no output)" if not taken.texts_for_person else "(shown to the user)")
            ]
        details: dict[str, Any] = {"server": self._server}
        if taken.texts_for_person:
            details["forPerson"] = "\n\n".join(taken.texts_for_person)[:50_000]
        return ToolResult(
            content=tuple(parts),
            details=details,
            is_error=is_error,
            structured_content=replace_texts_in_json(structured, show_invisible_chars),
        )

    def convert_resource_answer(self, answer: Mapping[str, Any]) -> ToolResult:
        """Converts the result of an MCP server's `resources/read`."""
        contents = [{"type": "resource", "resource": one} for one in answer.get("contents") or ()]
        taken = self._convert_content(contents)
        text = "\n\n".join(taken.texts)
        parts = [*self._limit_text(text), *taken.images]
        return ToolResult(
            content=tuple(parts) or (TextPart(text="(empty)"),), details={"server": self._server}
        )

    def _limit_text(self, text: str) -> list[TextPart]:
        if not text:
            return []
        cut = keep_first_lines(text)
        if not cut.truncated:
            return [TextPart(text=text)]
        path = self._save_artifact(text.encode("utf-8", "replace"))
        note = (
            f"[{cut.output_lines:,} of {cut.total_lines:,} lines, {format_size(cut.output_bytes)} of "
            f"{format_size(cut.total_bytes)}. All of it: {path}]"
        )
        return [TextPart(text=f"{cut.content}\n\n{note}")]

    def _convert_content(self, content: Sequence[Any]) -> ConvertedMcpAnswer:
        texts: list[str] = []
        images: list[ImagePart] = []
        for_person: list[str] = []
        for block in content:
            part = self._convert_block(block)
            audience = (block.get("annotations") or {}).get("audience") or ()
            if "user" in audience and "assistant" not in audience:
                for_person.append(part if isinstance(part, str) else f"an image ({part.mime_type})")
            elif isinstance(part, str):
                texts.append(part)
            else:
                images.append(part)
        return ConvertedMcpAnswer(
            texts=tuple(texts), images=tuple(images), texts_for_person=tuple(for_person)
        )

    def _convert_block(self, block: Mapping[str, Any]) -> str | ImagePart:
        match block.get("type"):
            case "text":
                return _replace_surrogates(block.get("text"))
            case "image":
                return self._convert_image(block)
            case "audio":
                return self._save_base64_data(block.get("data"), "audio", _displayed_mime_type(block))
            case "resource_link":
                name = one_line(remove_unsafe_characters(block.get("title") or block.get("name"), 200))
                about = ", ".join(filter(None, (name, _displayed_mime_type(block))))
                return f"resource: {_displayed_uri(block)} ({about}) – read with mcp_resource"
            case "resource":
                return self._convert_resource(block.get("resource") or {})
            case other:
                return f"[a part of a kind that is not known here: {show_invisible_chars(one_line(str(other))[:60])}]"

    def _convert_resource(self, resource: Mapping[str, Any]) -> str | ImagePart:
        head = f"{_displayed_uri(resource)}" + (
            f" ({_displayed_mime_type(resource)})" if _displayed_mime_type(resource) else ""
        )
        if isinstance(resource.get("text"), str):
            return f"{head}:\n{_replace_surrogates(resource['text'])}"
        if _displayed_mime_type(resource) in _SUPPORTED_RESULT_IMAGE_TYPES:
            block = {"data": resource.get("blob"), "mimeType": resource.get("mimeType")}
            return self._convert_image(block)
        return (
            f"{head}: {self._save_base64_data(resource.get('blob'), 'data', _displayed_mime_type(resource))}"
        )

    def _convert_image(self, block: Mapping[str, Any]) -> str | ImagePart:
        """Returns an image that providers accept: another one would make every later request of the session fail."""
        mime, data = _displayed_mime_type(block), block.get("data")
        raw = _decode_base64(data)
        if raw is None:
            return f"[an image ({mime}) that is no valid base64]"
        info = identify_image(raw)
        if info is None or info.mime_type not in _SUPPORTED_RESULT_IMAGE_TYPES or not self._reads_images:
            why = "" if self._reads_images else "; the model that reads this cannot see images"
            return self._save_base64_data(data, "an image", mime) + why
        ready = prepare_image_for_model(raw, info, resizes=self._resizes_images)
        if ready.problem:
            return f"{self._save_base64_data(data, 'an image', mime)}; {ready.problem}"
        return ImagePart(data=ready.data, mime_type=ready.info.mime_type)

    def _save_base64_data(self, data: Any, what: str, mime: str) -> str:
        raw = _decode_base64(data)
        if raw is None:
            return f"[{what} ({mime}) that is no valid base64]"
        return f"[{what}, {mime or 'of no named type'}, {format_size(len(raw))}: {self._save_artifact(raw)}]"

    def _save_artifact(self, data: bytes) -> str:
        try:
            artifact, descriptor = self._artifacts.create(f"mcp-{self._server}")
            with os.fdopen(descriptor, "wb") as file:
                file.write(data[: self._artifacts.next_artifact_size_limit])
            self._artifacts.mark_artifact_complete(artifact)
        except OSError as problem:
            return f"the result could not be saved: {problem.strerror}"
        return str(artifact.path)


def _decode_base64(data: Any) -> bytes | None:
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _replace_surrogates(text: Any) -> str:
    return (
        _show_deceptive_chars(text[:_MAX_MCP_RESULT_TEXT_CHARS].replace("\r\n", "\n"))
        if isinstance(text, str)
        else ""
    )


def _displayed_mime_type(block: Mapping[str, Any]) -> str:
    return show_invisible_chars(one_line(str(block.get("mimeType") or "")[:100]))


def _displayed_uri(block: Mapping[str, Any]) -> str:
    return show_invisible_chars(one_line(str(block.get("uri") or "")[:2_000]))


def _show_deceptive_chars(text: str) -> str:
    """Shows characters that a person does not see as they are."""
    return show_invisible_chars(escape_controls(text))
