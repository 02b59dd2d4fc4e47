"""Finds routes of web programs as symbols: `GET /users/:id`, with their handler, because prompts mention paths.

They are found by text, in the forms of common frameworks: decorators (Flask, FastAPI, Nest), annotations
(Spring), calls with a literal path (Express, Gin, `net/http`, Django's `path`). Only literal paths count."""

import re
from collections.abc import Iterator

from tools.filemap.language import FoundRoute

_VERBS = rb"get|post|put|delete|patch|head|options"
_LITERAL = rb"[rR]?(?P<quote>[\"'`])(?P<path>[^\"'`\n]{0,200})(?P=quote)"


def _matches_at_sign(
    source: bytes, sign: re.Pattern[bytes], whole: re.Pattern[bytes]
) -> Iterator[re.Match[bytes]]:
    """Yields lines with the quick pattern where the whole pattern matches."""
    until = 0
    for found in sign.finditer(source):
        if found.start() < until:
            continue
        match = whole.match(source, source.rfind(b"\n", 0, found.start()) + 1)
        if match is not None:
            until = match.end()
            yield match


def _decode(raw: bytes | None) -> str:
    return " ".join((raw or b"").decode("utf-8", "replace").split())


# Python: decorators of Flask, FastAPI and similar; Django's lists

_DECORATED_SIGN = re.compile(rb"\.(?:route|api_route|websocket|" + _VERBS + rb")\(\s*[rR]?[\"']")
_DECORATED = re.compile(
    rb"^[ \t]*@(?P<on>[A-Za-z_][\w.]*)\.(?P<word>route|api_route|websocket|" + _VERBS + rb")\(\s*" + _LITERAL,
    re.M,
)
_METHODS = re.compile(rb"methods\s*=\s*[\[(](?P<verbs>[^\])]*)[\])]")
_DEFINED = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(?P<name>\w+)", re.M)
_DJANGO = re.compile(
    rb"^[ \t]*(?P<word>path|re_path|url)\(\s*" + _LITERAL + rb"\s*,\s*(?P<handler>[\w.]+)", re.M
)
_MAX_DISTANCE = 2000


def python_routes(source: bytes) -> Iterator[FoundRoute]:
    if b"@" in source:
        for match in _matches_at_sign(source, _DECORATED_SIGN, _DECORATED):
            defined = _DEFINED.search(source, match.end(), match.end() + _MAX_DISTANCE)
            if defined is None or not (match["path"].startswith((b"/", b"{", b"<")) or not match["path"]):
                continue
            word, end = match["word"], match.end()
            verb = word.decode().upper()
            if word in (b"route", b"api_route"):
                said = _METHODS.search(source, end, defined.start())
                verb = ",".join(re.findall(r"\w+", _decode(said["verbs"]))) if said is not None else "GET"
            verb = verb.replace("WEBSOCKET", "WS")
            yield FoundRoute(_line_start(match), end, verb, _decode(match["path"]), _decode(defined["name"]))
    if b"urlpatterns" in source:
        for match in _DJANGO.finditer(source, source.find(b"urlpatterns")):
            if match["handler"] != b"include":
                path = "/" + _decode(match["path"]).lstrip("^/")
                yield FoundRoute(_line_start(match), match.end(), "", path, _decode(match["handler"]))


# JavaScript and TypeScript: Express and similar, Nest

_CALL_SIGN = re.compile(rb"\.(?:" + _VERBS + rb"|all)\(\s*[\"'`][/*]")
_ROUTE_CALL = re.compile(
    rb"^[ \t]*(?:await[ \t]+)?(?P<on>[A-Za-z_$][\w$.]*)\.(?P<verb>"
    + _VERBS
    + rb"|all)\(\s*"
    + _LITERAL
    + rb"\s*,",
    re.M,
)
_SERVER_NAME = re.compile(
    rb"(?:^|\.)(?:app|api|server|fastify|koa|express|hono|r|\w*[rR]outer?s?|\w*App|\w*Api)$"
)
_ROUTE_SIGN = re.compile(rb"\.route\(")
_ROUTE = re.compile(rb"^[ \t]*(?P<on>[A-Za-z_$][\w$.]*)\.route\(\s*" + _LITERAL + rb"\s*\)", re.M)
_CHAINED = re.compile(rb"\s*\.(?P<verb>" + _VERBS + rb"|all)\((?P<rest>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)")
_NEST = re.compile(
    rb"^[ \t]*@(?P<verb>Get|Post|Put|Delete|Patch|Head|Options|All)\(\s*(?:" + _LITERAL + rb")?\s*\)", re.M
)
_CONTROLLER = re.compile(rb"^[ \t]*@Controller\(\s*(?:" + _LITERAL + rb")?", re.M)
_METHOD = re.compile(
    rb"^[ \t]*(?:(?:public|private|protected|async|static)[ \t]+)*(?P<name>[A-Za-z_$][\w$]*)[ \t]*[(<]", re.M
)
_ARGUMENT = re.compile(rb"\s*(?P<handler>[A-Za-z_$][\w$.]*(?:\([^()]*\))?)\s*(?P<next>[,)])")


def script_routes(source: bytes) -> Iterator[FoundRoute]:
    for match in _matches_at_sign(source, _CALL_SIGN, _ROUTE_CALL):
        if _SERVER_NAME.search(match["on"]):
            handler, end = _last_argument(source, match.end())
            yield FoundRoute(
                _line_start(match), end, _decode(match["verb"]).upper(), _decode(match["path"]), handler
            )
    for match in _matches_at_sign(source, _ROUTE_SIGN, _ROUTE):
        at = match.end()
        while match["path"].startswith(b"/") and (chained := _CHAINED.match(source, at)) is not None:
            handler = _decode(chained["rest"].rpartition(b",")[2])
            handler = handler if re.fullmatch(r"[\w$.]+", handler) else ""
            start = _line_start(match) if at == match.end() else chained.start("verb")
            verb, path = _decode(chained["verb"]).upper(), _decode(match["path"])
            yield FoundRoute(start, chained.end(), verb, path, handler)
            at = chained.end() + 1
    if b"@Controller" in source:
        yield from _nest_routes(source)


def _last_argument(source: bytes, at: int) -> tuple[str, int]:
    """Returns the name of the last argument, if all arguments are names; and at least the end of the call's first
    line."""
    handler = ""
    while (argument := _ARGUMENT.match(source, at)) is not None:
        handler, at = _decode(argument["handler"]), argument.end()
        if argument["next"] == b")":
            return handler, at
    return "", at


# Java and Kotlin: Spring

_SPRING_MAPPING = re.compile(
    rb"^[ \t]*@(?P<verb>Get|Post|Put|Delete|Patch|Request)Mapping\b"
    rb"(?P<said>\((?:[^()\"]|\"[^\"\n]*\"|\([^()]*\))*\))?",
    re.M,
)
_NAMED_VALUE = re.compile(rb"(?:\b(?:value|path)\s*=\s*\{?\s*|^\(\s*\{?\s*)\"(?P<path>[^\"\n]{0,200})\"")
_REQUEST_METHOD = re.compile(rb"RequestMethod\.(?P<verb>[A-Z]+)")
_JVM_NAMED = re.compile(
    rb"^[ \t]*(?!@)(?:[\w<>\[\],.? \t]+?[ \t])?(?:(?P<type>class|interface|object)[ \t]+\w+|(?P<name>\w+)[ \t]*\()",
    re.M,
)


def spring_routes(source: bytes) -> Iterator[FoundRoute]:
    if b"Mapping" not in source:
        return
    prefix = ""
    for match in _SPRING_MAPPING.finditer(source):
        said = match["said"] or b""
        value = _NAMED_VALUE.search(said)
        path = _decode(value["path"]) if value is not None else ""
        named = _after_annotations(source, match.end(), _JVM_NAMED)
        if named is None:
            continue
        if named["type"] is not None:
            prefix = path
            continue
        verb = match["verb"].decode().upper()
        if verb == "REQUEST":
            verb = ",".join(_decode(one) for one in _REQUEST_METHOD.findall(said))
        yield FoundRoute(
            _line_start(match), match.end(), verb, _join_paths(prefix, path), _decode(named["name"])
        )


_ANNOTATION = re.compile(rb"\s*@[\w.]+(?:\((?:[^()\"]|\"[^\"\n]*\"|\([^()]*\))*\))?")


def _after_annotations(source: bytes, at: int, named: re.Pattern[bytes]) -> re.Match[bytes] | None:
    while (more := _ANNOTATION.match(source, at)) is not None:
        at = more.end()
    return named.search(source, at, at + 400)


def _nest_routes(source: bytes) -> Iterator[FoundRoute]:
    """Yields members with a path, below the path of their class."""
    owners = [(match.start(), _decode(match["path"])) for match in _CONTROLLER.finditer(source)]
    for match in _NEST.finditer(source):
        prefix = next((path for start, path in reversed(owners) if start < match.start()), None)
        if prefix is not None:
            method = _after_annotations(source, match.end(), _METHOD)
            verb, path = _decode(match["verb"]).upper(), _join_paths(prefix, _decode(match["path"]))
            handler = _decode(method["name"]) if method is not None else ""
            yield FoundRoute(_line_start(match), match.end(), verb, path, handler)


# Go: net/http, Gin, Echo, Chi

_GO_ROUTE_METHODS = rb"GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|Any|Get|Post|Put|Delete|Patch|HandleFunc|Handle"
_GO_ROUTE_START = re.compile(rb"\.(?:" + _GO_ROUTE_METHODS + rb")\(\s*[\"`]")
_GO_ROUTE = re.compile(
    rb"^[ \t]*(?P<on>[A-Za-z_][\w.]*)\.(?P<word>"
    + _GO_ROUTE_METHODS
    + rb")\(\s*[\"`](?P<path>[^\"`\n]{0,200})[\"`]\s*,",
    re.M,
)
_GO_ROUTE_PATH = re.compile(rb"(?:(?P<verb>[A-Z]+) )?(?P<path>[\w.-]*/.*)")


def go_routes(source: bytes) -> Iterator[FoundRoute]:
    for match in _matches_at_sign(source, _GO_ROUTE_START, _GO_ROUTE):
        said = _GO_ROUTE_PATH.fullmatch(match["path"])
        if said is None:
            continue
        handler, end = _last_argument(source, match.end())
        word = _decode(match["word"]).upper()
        verb = _decode(said["verb"]) if word in ("HANDLEFUNC", "HANDLE", "ANY") else word
        yield FoundRoute(_line_start(match), end, verb, _decode(said["path"]), handler)


def _join_paths(prefix: str, path: str) -> str:
    return "/" + "/".join(part.strip("/") for part in (prefix, path) if part.strip("/"))


def _line_start(match: re.Match[bytes]) -> int:
    """Returns the first non-blank position of the line."""
    text = match[0]
    return match.start() + len(text) - len(text.lstrip())
