"""How people see calls of servers' tools."""

from collections.abc import Callable, Mapping
from typing import Any

from tools.results import Card, ImageBlock, ImagePart, TextBlock, ToolResult
from tools.text import one_line, visible

_SUBJECT_CHARS = 200


def show_search(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    where = f" in {arguments['server']}" if arguments.get("server") else ""
    details = (result.details if result else None) or {}
    count = details.get("count")
    return Card(
        title="mcp search",
        subject=one_line(f"{arguments.get('query', '')}{where}"),
        summary=f"{count} found" if isinstance(count, int) else "",
        blocks=_blocks(result),
    )


def show_call(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    given = arguments.get("arguments")
    given = given if isinstance(given, Mapping) else {}
    title = f"{arguments.get('server', 'mcp')} · {arguments.get('tool', '')}"
    return Card(title=one_line(title), subject=_subject(given), blocks=_blocks(result))


def show_resource(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
    subject = one_line(str(arguments.get("uri") or "list"))
    title = one_line(f"{arguments.get('server', 'mcp')} · resource")
    return Card(title=title, subject=subject, blocks=_blocks(result))


def shown_as(server: str, name: str) -> Callable[[Mapping[str, Any], ToolResult | None], Card]:
    def show(arguments: Mapping[str, Any], result: ToolResult | None) -> Card:
        return Card(title=one_line(f"{server} · {name}"), subject=_subject(arguments), blocks=_blocks(result))

    return show


def _subject(arguments: Mapping[str, Any]) -> str:
    said = ", ".join(f"{name}={value}" for name, value in arguments.items())
    return one_line(said.split("\n", 1)[0][:_SUBJECT_CHARS])


def _blocks(result: ToolResult | None) -> tuple[TextBlock | ImageBlock, ...]:
    if result is None:
        return ()
    own = (result.details or {}).get("forPerson")
    texts = [text for text in (result.text, own) if isinstance(text, str) and text]
    images = [part for part in result.content if isinstance(part, ImagePart)]
    return (
        *(TextBlock(text=visible(text)) for text in texts),
        *(
            ImageBlock(mime_type=image.mime_type, byte_count=len(image.data) * 3 // 4, data=image.data)
            for image in images
        ),
    )
