"""A server on the network that wants a sign-in, with its own authorization server: real sockets, PKCE and rotation."""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import zlib
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class GuardedServer:
    """Knows what it gave out, and can let it run out."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        """`host`: under which it is known; it is on this machine all the same."""
        self._origin = f"{'https' if tls else 'http'}://{host}"
        self.login: GuardedServer = self
        """Who lets people in."""
        self.clients: dict[str, dict[str, Any]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.valid: set[str] = set()
        self.refresh: set[str] = set()
        self.seconds = 3600
        self.requests: list[str] = []
        self.refreshes = 0
        self.presented: list[str] = []
        """The received refresh tokens, oldest first."""
        self.refused = threading.Semaphore(0)
        """Released for each request that was refused for its token."""
        self.at_token: Callable[[], object] = lambda: None
        """Before the sign-in server answers."""
        self.overrides: dict[str, Any] = {}
        """Of what the authorization server says of itself."""
        self.scopes_seen: list[str] = []
        self.failures: list[int] = []
        """Statuses that the next requests are answered with."""
        self.needs_sign_in = True
        self.sessions: set[str] | None = None
        """That are known, where it keeps any."""
        self.calls = 0
        self.flood = ""
        """The content type of an answer without an end."""
        self.encoding = ""
        """Of that answer, which then is compressed."""
        self.mislabelled = False
        """Says that its answers to calls are packed, which they are not."""
        self.events = ""
        """What an answer that comes as events says."""
        self.scope_of_calls = ""
        """What a token needs for calls."""
        self.scope_of: dict[str, str] = {}
        self.lock = threading.Lock()
        self._http = _Quiet(("127.0.0.1", 0), _requests_of(self))
        self._http.daemon_threads = True
        if tls is not None:
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def base(self) -> str:
        return f"{self._origin}:{self.port}"

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.overrides,
        }

    def redirect(self, query: dict[str, str]) -> str:
        """Where the browser of a person who agrees is sent."""
        self.scopes_seen.append(query.get("scope", ""))
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        answer = {"code": code, "state": query["state"], "iss": self.base}
        return f"{query['redirect_uri']}?{urlencode(answer)}"

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            shown = form.get("authorization", "").removeprefix("Basic ")
            name = form.get("client_id") or base64.b64decode(shown).decode().partition(":")[0]
            if name not in self.clients:
                return 401, {"error": "invalid_client"}
            wanted = self.clients[name].get("basic")
            if wanted and form.get("authorization") != wanted:
                return 401, {"error": "invalid_client"}
            if form["grant_type"] == "client_credentials":
                asked = {"scope": form.get("scope", "")}
            elif form["grant_type"] == "authorization_code":
                asked = self.codes.pop(form.get("code", ""), None)
                digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
                proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if asked is None or asked["code_challenge"] != proof:
                    return 400, {"error": "invalid_grant"}
            elif self._is_unknown(form.get("refresh_token", "")):
                return 400, {"error": "invalid_grant"}
            else:
                self.refresh.discard(form["refresh_token"])
                asked = {}
                self.refreshes += 1
            access, fresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
            self.valid.add(access)
            self.scope_of[access] = asked.get("scope", "")
            given = {"access_token": access, "expires_in": self.seconds, "token_type": "Bearer"}
            if form["grant_type"] == "client_credentials":
                return 200, given
            self.refresh.add(fresh)
            return 200, {**given, "refresh_token": fresh}

    def _is_unknown(self, token: str) -> bool:
        self.presented.append(token)
        return token not in self.refresh


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may go at any moment."""


def _requests_of(server: GuardedServer) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None: ...

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            server.requests.append(f"GET {parts.path}")
            if parts.path.startswith("/.well-known/oauth-protected-resource"):
                self._json(200, {"resource": server.url, "authorization_servers": [server.login.base]})
            elif parts.path == "/.well-known/oauth-authorization-server":
                self._json(200, server.metadata())
            elif parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", server.redirect(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._json(405 if parts.path == "/mcp" else 404, {})

        def do_DELETE(self) -> None:
            self._json(405, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            server.requests.append(f"POST {self.path}")
            match self.path:
                case "/register":
                    asked = json.loads(body)
                    client = {**asked, "client_id": secrets.token_urlsafe(6)}
                    server.clients[client["client_id"]] = client
                    self._json(201, client)
                case "/token":
                    server.at_token()
                    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                    self._json(
                        *server.token({**form, "authorization": self.headers.get("Authorization", "")})
                    )
                case _:
                    self._mcp(json.loads(body))

        def _mcp(self, message: dict[str, Any]) -> None:
            if server.failures:
                self._text(server.failures.pop(0), "busy")
                return
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if server.needs_sign_in and bearer not in server.valid:
                where = f"{server.base}/.well-known/oauth-protected-resource/mcp"
                self._json(401, {}, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'})
                server.refused.release()
                return
            missing = set(server.scope_of_calls.split()) - set(server.scope_of.get(bearer, "").split())
            if message.get("method") == "tools/call" and missing:
                wants = f'Bearer error="insufficient_scope", scope="{server.scope_of_calls}"'
                self._json(403, {}, {"WWW-Authenticate": wants})
                return
            is_greeting = message.get("method") in ("initialize", "server/discover")
            known = server.sessions if server.sessions is not None and not is_greeting else None
            if known is not None and self.headers.get("Mcp-Session-Id") not in known:
                self._text(404, "no such session")
                return
            more: dict[str, str] = {}
            match message.get("method"):
                case "initialize":
                    if server.sessions is not None:
                        more["Mcp-Session-Id"] = secrets.token_hex(8)
                        server.sessions.add(more["Mcp-Session-Id"])
                    result: dict[str, Any] = {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "guarded", "version": "1"},
                    }
                case "tools/list":
                    result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
                case "tools/call":
                    server.calls += 1
                    if server.flood:
                        self._flood()
                        return
                    if server.events:
                        self._events(message["id"])
                        return
                    result = {"content": [{"type": "text", "text": "heard"}]}
                    if server.mislabelled:
                        more["Content-Encoding"] = "gzip"
                case "ping":
                    result = {}
                case _ if "id" not in message:
                    self._text(202, "")
                    return
                case other:
                    error = {"code": -32601, "message": f"no {other}"}
                    self._json(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
                    return
            self._json(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, more)

        def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
            self._send(status, json.dumps(value).encode(), "application/json", headers or {})

        def _flood(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", server.flood)
            if server.encoding:
                self.send_header("Content-Encoding", server.encoding)
            self.end_headers()
            begin = b"data: " if "event" in server.flood else b'{"jsonrpc": "'
            piece = b"x" * 1_000_000
            if server.encoding:  # each piece stands for itself, so that it can be sent again and again
                packed = zlib.compressobj(wbits=31 if server.encoding == "gzip" else 15)
                begin = packed.compress(begin) + packed.flush(zlib.Z_FULL_FLUSH)
                piece = packed.compress(piece) + packed.flush(zlib.Z_FULL_FLUSH)
            try:
                self.wfile.write(begin)
                while True:
                    self.wfile.write(piece)
            except OSError:
                self.close_connection = True

        def _events(self, number: Any) -> None:
            result = {"content": [{"type": "text", "text": server.events}]}
            said = json.dumps({"jsonrpc": "2.0", "id": number, "result": result})
            if server.events == "nothing":
                said = ""
            self._send(200, f"event: message\ndata: {said}\n\n".encode(), "text/event-stream", {})

        def _text(self, status: int, text: str) -> None:
            self._send(status, text.encode(), "text/plain", {})

        def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Requests


def last_page(url: str) -> str:
    """Where a person who agrees at that page is sent."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse().headers["Location"]
