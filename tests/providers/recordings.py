"""The answers of `wires` with everything around them that the vendors' servers send: their clients insist on it."""

import json
from typing import Any

from tests.providers.loopback import sse
from tests.providers.wire_formats import FIRST, SECOND, TEXT, THOUGHT, anthropic_answer, completions_answer


def recorded_messages() -> bytes:
    """Anthropic's: the message's frame, and text deltas that follow empty blocks."""
    frame = {
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    return anthropic_answer().replace(
        b'"message": {', b'"message": {' + json.dumps(frame)[1:-1].encode() + b", ", 1
    )


def recorded_completions() -> bytes:
    """Chat completions: kind and time in each piece."""
    return completions_answer().replace(
        b'{"id": "cmpl-1"', b'{"object": "chat.completion.chunk", "created": 1, "id": "cmpl-1"'
    )


class _Responses:
    """Events with their running numbers."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, kind: str, **fields: Any) -> None:
        self.events.append({"type": f"response.{kind}", "sequence_number": len(self.events), **fields})

    def deltas(self, kind: str, text: str, index: int, item_id: str, **more: Any) -> None:
        place = {"item_id": item_id, "output_index": index, **more}
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self.add(f"{kind}.delta", **place, delta=piece)
        name = "arguments" if "arguments" in kind else "text"
        self.add(f"{kind}.done", **place, **{name: text})


def recorded_responses() -> bytes:
    out = _Responses()
    usage = {
        "input_tokens": 110, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 25,
        "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 135,
    }  # fmt: skip
    response = {"id": "resp_1", "object": "response", "model": "gpt-x", "created_at": 1, "output": []}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    out.add("created", response={**response, **settings, "status": "in_progress"})
    out.add("in_progress", response={**response, **settings, "status": "in_progress"})
    items: list[dict[str, Any]] = []

    thought = {"type": "reasoning", "id": "rs_1", "encrypted_content": "secret", "summary": []}
    part = {"type": "summary_text", "text": THOUGHT}
    out.add("output_item.added", output_index=0, item=thought)
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    out.add("reasoning_summary_part.added", **place, part={**part, "text": ""})
    out.deltas("reasoning_summary_text", THOUGHT, 0, "rs_1", summary_index=0)
    out.add("reasoning_summary_part.done", **place, part=part)
    items.append({**thought, "summary": [part]})
    out.add("output_item.done", output_index=0, item=items[-1])

    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    text = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}
    out.add("output_item.added", output_index=1, item=message)
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    out.add("content_part.added", **place, part={**text, "text": ""})
    out.deltas("output_text", TEXT, 1, "msg_1", content_index=0, logprobs=[])
    out.add("content_part.done", **place, part=text)
    items.append({**message, "status": "completed", "content": [text]})
    out.add("output_item.done", output_index=1, item=items[-1])

    for index, arguments in ((2, FIRST), (3, SECOND)):
        number, written = index - 1, json.dumps(arguments)
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "read"}
        out.add(
            "output_item.added", output_index=index, item={**call, "arguments": "", "status": "in_progress"}
        )
        out.deltas("function_call_arguments", written, index, f"fc_{number}")
        items.append({**call, "arguments": written, "status": "completed"})
        out.add("output_item.done", output_index=index, item=items[-1])
    whole = {**response, **settings, "status": "completed", "output": items, "usage": usage}
    out.add("completed", response=whole)
    return sse(*out.events, names=True)


RECORDINGS = {
    "anthropic-messages": recorded_messages,
    "openai-completions": recorded_completions,
    "openai-responses": recorded_responses,
}
