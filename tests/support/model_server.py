"""A server on this machine with an API like OpenAI's, in separate threads: it lists models and answers prompts."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | Mapping[str, Any]
"""A text, or the arguments of a tool call together with `tool`, its name."""


class ModelServer:
    def __init__(self) -> None:
        self.models: list[str] = ["tug", "barge"]
        self.key = ""
        """The key that is needed, if any."""
        self.requests: list[dict[str, Any]] = []
        """The bodies of the prompts."""
        self.answer: Callable[[Sequence[Mapping[str, Any]]], Reply] = lambda messages: "Aye."
        """What is answered to the messages of a request."""
        self.url = ""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    served = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            if self._is_let_in():
                self._send(200, "application/json", {"data": [{"id": name} for name in served.models]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._is_let_in():
                served.requests.append(body)
                self._send(200, "text/event-stream", _stream(served.answer(body["messages"])))

        def _is_let_in(self) -> bool:
            is_right = not served.key or self.headers.get("Authorization") == f"Bearer {served.key}"
            if not is_right:
                self._send(401, "application/json", {"error": {"message": "Incorrect API key."}})
            return is_right

        def _send(self, status: int, kind: str, content: object) -> None:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serving.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def _stream(reply: Reply) -> bytes:
    if isinstance(reply, str):
        delta: dict[str, Any] = {"content": reply}
        reason = "stop"
    else:
        given = dict(reply)
        function = {"name": given.pop("tool"), "arguments": json.dumps(given)}
        delta = {
            "tool_calls": [{"index": 0, "id": f"call_{id(reply)}", "type": "function", "function": function}]
        }
        reason = "tool_calls"
    chunks = [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    ]
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"
