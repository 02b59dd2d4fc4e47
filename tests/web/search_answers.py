"""What providers send when their own tool has searched the web, as bodies of server-sent events."""

import json
from typing import Any

from tests.providers.loopback import sse

QUERY = "tea pot history"
ANSWER = "Pots came from Yixing. They hold tea."
CITED = "Pots came from Yixing[1]. They hold tea[1][2]."
FIRST, SECOND, THIRD = "https://a.example/pots", "https://b.example/tea", "https://c.example/"


def anthropic_search(*, error: str = "", text: bool = True) -> bytes:
    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def words(index: int, text: str, *urls: str) -> list[dict[str, Any]]:
        cites = (
            {
                "type": "citations_delta",
                "citation": {
                    "type": "web_search_result_location",
                    "url": url,
                    "title": "",
                    "encrypted_index": "Eo8BCio=",
                    "cited_text": "…",
                },
            }
            for url in urls
        )
        return block(index, {"type": "text", "text": ""}, *cites, {"type": "text_delta", "text": text})

    def page(url: str, title: str, age: str | None) -> dict[str, Any]:
        return {
            "type": "web_search_result",
            "url": url,
            "title": title,
            "encrypted_content": "EqgfCioI",
            "page_age": age,
        }

    pages: Any = [page(FIRST, "Pots", "April 30, 2025"), page(THIRD, "C", None), page(SECOND, "Tea", None)]
    if error:
        pages = {"type": "web_search_tool_result_error", "error_code": error}
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    given = json.dumps({"query": QUERY})
    usage = {"input_tokens": 6_000, "output_tokens": 300, "server_tool_use": {"web_search_requests": 2}}
    answer = [
        *words(3, "Pots came from Yixing", FIRST),
        *words(4, ". "),
        *words(5, "They hold tea", SECOND, FIRST),
        *words(6, "."),
    ]
    return sse(
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 100, "output_tokens": 1}}},
        *words(0, "I will search."),
        *block(
            1,
            call,
            {"type": "input_json_delta", "partial_json": given[:9]},
            {"type": "input_json_delta", "partial_json": given[9:]},
        ),
        *block(2, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": pages}),
        *(answer if text else ()),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
        names=True,
    )


def responses_search() -> bytes:
    def item(kind: str, index: int, **fields: Any) -> dict[str, Any]:
        return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}

    search = {"type": "web_search_call", "id": "ws_1"}
    action = {
        "type": "search",
        "query": QUERY,
        "sources": [{"type": "url", "url": FIRST}, {"type": "url", "url": THIRD}],
    }
    opened = {"type": "open_page", "url": FIRST}
    message = {"type": "message", "id": "msg_1", "role": "assistant"}
    notes = [
        {"type": "url_citation", "start_index": 0, "end_index": 21, "url": FIRST, "title": "Pots"},
        {"type": "url_citation", "start_index": 23, "end_index": 36, "url": SECOND, "title": "Tea"},
    ]
    part = {"type": "output_text", "text": ANSWER, "annotations": notes}
    usage = {"input_tokens": 6_000, "output_tokens": 300, "total_tokens": 6_300}
    return sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-x"}},
        item("added", 0, **search, status="in_progress"),
        {"type": "response.web_search_call.in_progress", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.web_search_call.completed", "output_index": 0, "item_id": "ws_1"},
        item("done", 0, **search, status="completed", action=action),
        item("done", 1, **{**search, "id": "ws_2"}, status="completed", action=opened),
        item("added", 2, **message, content=[]),
        {"type": "response.output_text.delta", "output_index": 2, "delta": ANSWER},
        {
            "type": "response.output_text.annotation.added",
            "output_index": 2,
            "annotation_index": 0,
            "annotation": notes[0],
        },
        item("done", 2, **message, content=[part]),
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}},
        names=True,
    )


def google_search() -> bytes:
    def chunk(text: str, **more: Any) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": text}]}
        return {"responseId": "r1", "modelVersion": "g", "candidates": [{"content": content, **more}]}

    def support(text: str, *chunks: int) -> dict[str, Any]:
        return {"segment": {"startIndex": 0, "endIndex": 9, "text": text}, "groundingChunkIndices": chunks}

    grounding = {
        "webSearchQueries": [QUERY],
        "searchEntryPoint": {"renderedContent": "<div>…</div>"},
        "groundingChunks": [
            {"web": {"uri": FIRST, "title": "Pots"}},
            {"web": {"uri": SECOND, "title": "Tea"}},
            {"web": {"uri": THIRD, "title": "C"}},
        ],
        "groundingSupports": [
            support("Pots came from Yixing", 0),
            support("They hold tea", 0, 1, 9),
            support("nowhere", 2),
        ],
    }
    usage = {
        "promptTokenCount": 40,
        "toolUsePromptTokenCount": 5_960,
        "candidatesTokenCount": 300,
        "totalTokenCount": 6_300,
    }
    last = chunk(ANSWER[20:], finishReason="STOP", groundingMetadata=grounding)
    return sse(chunk(ANSWER[:20]), {**last, "usageMetadata": usage})
