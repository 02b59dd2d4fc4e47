"""Finds routes of web programs as symbols: `GET /users/:id`, with their handler, because prompts mention paths.

They are found by text, in the forms of common frameworks: decorators (Flask, FastAPI, Nest), annotations
(Spring), calls with a literal path (Express, Gin, `net/http`, Django's `path`). Only literal paths count."""

import re
from collections.abc import Iterator

from tools.filemap.language_description import FoundRoute

_HTTP_VERBS_REGEX = rb"get|post|put|delete|patch|head|options"
_PATH_LITERAL_REGEX = rb"[rR]?(?P<quote>[\"'`])(?P<path>[^\"'`\n]{0,200})(?P=quote)"


def _find_matches_in_quick_lines(
    source: bytes, sign: re.Pattern[bytes], whole: re.Pattern[bytes]
) -> Iterator[re.Match[bytes]]:
    """Yields matches of a full pattern at the lines in which a quick pattern matches."""
    until = 0
    for found in sign.finditer(source):
        if found.start() < until:
            continue
        match = whole.match(source, source.rfind(b"\n", 0, found.start()) + 1)
        if match is not None:
            until = match.end()
            yield match


def _decode_one_line(raw: bytes | None) -> str:
    return " ".join((raw or b"").decode("utf-8", "replace").split())


# Python: decorators of Flask, FastAPI and similar; Django's lists

_QUICK_ROUTE_DECORATOR_PATTERN = re.compile(
    rb"\.(?:route|api_route|websocket|" + _HTTP_VERBS_REGEX + rb")\(\s*[rR]?[\"']"
)
_ROUTE_DECORATOR_PATTERN = re.compile(
    rb"^[ \t]*@(?P<on>[A-Za-z_][\w.]*)\.(?P<word>route|api_route|websocket|"
    + _HTTP_VERBS_REGEX
    + rb")\(\s*"
    + _PATH_LITERAL_REGEX,
    re.M,
)
_METHODS_ARGUMENT_PATTERN = re.compile(rb"methods\s*=\s*[\[(](?P<verbs>[^\])]*)[\])]")
_PYTHON_DEFINITION_PATTERN = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(?P<name>\w+)", re.M)
_DJANGO_PATH_PATTERN = re.compile(
    rb"^[ \t]*(?P<word>path|re_path|url)\(\s*" + _PATH_LITERAL_REGEX + rb"\s*,\s*(?P<handler>[\w.]+)", re.M
)
_MAX_BYTES_BEFORE_ROUTE_HANDLER = 2000


def find_python_routes(source: bytes) -> Iterator[FoundRoute]:
    if b"@" in source:
        for match in _find_matches_in_quick_lines(
            source, _QUICK_ROUTE_DECORATOR_PATTERN, _ROUTE_DECORATOR_PATTERN
        ):
            defined = _PYTHON_DEFINITION_PATTERN.search(
                source, match.end(), match.end() + _MAX_BYTES_BEFORE_ROUTE_HANDLER
            )
            if defined is None or not (match["path"].startswith((b"/", b"{", b"<")) or not match["path"]):
                continue
            word, end = match["word"], match.end()
            verb = word.decode().upper()
            if word in (b"route", b"api_route"):
                said = _METHODS_ARGUMENT_PATTERN.search(source, end, defined.start())
                verb = (
                    ",".join(re.findall(r"\w+", _decode_one_line(said["verbs"])))
                    if said is not None
                    else "GET"
                )
            verb = verb.replace("WEBSOCKET", "WS")
            yield FoundRoute(
                _first_text_position(match),
                end,
                verb,
                _decode_one_line(match["path"]),
                _decode_one_line(defined["name"]),
            )
    if b"urlpatterns" in source:
        for match in _DJANGO_PATH_PATTERN.finditer(source, source.find(b"urlpatterns")):
            if match["handler"] != b"include":
                path = "/" + _decode_one_line(match["path"]).lstrip("^/")
                yield FoundRoute(
                    _first_text_position(match), match.end(), "", path, _decode_one_line(match["handler"])
                )


# JavaScript and TypeScript: Express and similar, Nest

_QUICK_ROUTE_CALL_PATTERN = re.compile(rb"\.(?:" + _HTTP_VERBS_REGEX + rb"|all)\(\s*[\"'`][/*]")
_ROUTE_CALL_PATTERN = re.compile(
    rb"^[ \t]*(?:await[ \t]+)?(?P<on>[A-Za-z_$][\w$.]*)\.(?P<verb>"
    + _HTTP_VERBS_REGEX
    + rb"|all)\(\s*"
    + _PATH_LITERAL_REGEX
    + rb"\s*,",
    re.M,
)
_SERVER_NAME_PATTERN = re.compile(
    rb"(?:^|\.)(?:app|api|server|fastify|koa|express|hono|r|\w*[rR]outer?s?|\w*App|\w*Api)$"
)
_QUICK_CHAINED_ROUTE_PATTERN = re.compile(rb"\.route\(")
_CHAINED_ROUTE_PATTERN = re.compile(
    rb"^[ \t]*(?P<on>[A-Za-z_$][\w$.]*)\.route\(\s*" + _PATH_LITERAL_REGEX + rb"\s*\)", re.M
)
_CHAINED_CALL_PATTERN = re.compile(
    rb"\s*\.(?P<verb>" + _HTTP_VERBS_REGEX + rb"|all)\((?P<rest>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)"
)
_NEST_DECORATOR_PATTERN = re.compile(
    rb"^[ \t]*@(?P<verb>Get|Post|Put|Delete|Patch|Head|Options|All)\(\s*(?:"
    + _PATH_LITERAL_REGEX
    + rb")?\s*\)",
    re.M,
)
_NEST_CONTROLLER_PATTERN = re.compile(rb"^[ \t]*@Controller\(\s*(?:" + _PATH_LITERAL_REGEX + rb")?", re.M)
_METHOD_DECLARATION_PATTERN = re.compile(
    rb"^[ \t]*(?:(?:public|private|protected|async|static)[ \t]+)*(?P<name>[A-Za-z_$][\w$]*)[ \t]*[(<]", re.M
)
_HANDLER_ARGUMENT_PATTERN = re.compile(rb"\s*(?P<handler>[A-Za-z_$][\w$.]*(?:\([^()]*\))?)\s*(?P<next>[,)])")


def find_script_routes(source: bytes) -> Iterator[FoundRoute]:
    for match in _find_matches_in_quick_lines(source, _QUICK_ROUTE_CALL_PATTERN, _ROUTE_CALL_PATTERN):
        if _SERVER_NAME_PATTERN.search(match["on"]):
            handler, end = _find_route_handler(source, match.end())
            yield FoundRoute(
                _first_text_position(match),
                end,
                _decode_one_line(match["verb"]).upper(),
                _decode_one_line(match["path"]),
                handler,
            )
    for match in _find_matches_in_quick_lines(source, _QUICK_CHAINED_ROUTE_PATTERN, _CHAINED_ROUTE_PATTERN):
        at = match.end()
        while (
            match["path"].startswith(b"/")
            and (chained := _CHAINED_CALL_PATTERN.match(source, at)) is not None
        ):
            handler = _decode_one_line(chained["rest"].rpartition(b",")[2])
            handler = handler if re.fullmatch(r"[\w$.]+", handler) else ""
            start = _first_text_position(match) if at == match.end() else chained.start("verb")
            verb, path = _decode_one_line(chained["verb"]).upper(), _decode_one_line(match["path"])
            yield FoundRoute(start, chained.end(), verb, path, handler)
            at = chained.end() + 1
    if b"@Controller" in source:
        yield from _find_nest_routes(source)


def _find_route_handler(source: bytes, at: int) -> tuple[str, int]:
    """Returns the name of a route call's handler, its last argument if all are names; and at least the end of the
    call's first line."""
    handler = ""
    while (argument := _HANDLER_ARGUMENT_PATTERN.match(source, at)) is not None:
        handler, at = _decode_one_line(argument["handler"]), argument.end()
        if argument["next"] == b")":
            return handler, at
    return "", at


# Java and Kotlin: Spring

_SPRING_MAPPING_PATTERN = re.compile(
    rb"^[ \t]*@(?P<verb>Get|Post|Put|Delete|Patch|Request)Mapping\b"
    rb"(?P<said>\((?:[^()\"]|\"[^\"\n]*\"|\([^()]*\))*\))?",
    re.M,
)
_SPRING_PATH_PATTERN = re.compile(
    rb"(?:\b(?:value|path)\s*=\s*\{?\s*|^\(\s*\{?\s*)\"(?P<path>[^\"\n]{0,200})\""
)
_SPRING_METHOD_PATTERN = re.compile(rb"RequestMethod\.(?P<verb>[A-Z]+)")
_JVM_DECLARATION_PATTERN = re.compile(
    rb"^[ \t]*(?!@)(?:[\w<>\[\],.? \t]+?[ \t])?(?:(?P<type>class|interface|object)[ \t]+\w+|(?P<name>\w+)[ \t]*\()",
    re.M,
)


def find_spring_routes(source: bytes) -> Iterator[FoundRoute]:
    if b"Mapping" not in source:
        return
    prefix = ""
    for match in _SPRING_MAPPING_PATTERN.finditer(source):
        said = match["said"] or b""
        value = _SPRING_PATH_PATTERN.search(said)
        path = _decode_one_line(value["path"]) if value is not None else ""
        named = _find_declaration_after_annotations(source, match.end(), _JVM_DECLARATION_PATTERN)
        if named is None:
            continue
        if named["type"] is not None:
            prefix = path
            continue
        verb = match["verb"].decode().upper()
        if verb == "REQUEST":
            verb = ",".join(_decode_one_line(one) for one in _SPRING_METHOD_PATTERN.findall(said))
        yield FoundRoute(
            _first_text_position(match),
            match.end(),
            verb,
            _join_url_paths(prefix, path),
            _decode_one_line(named["name"]),
        )


_ANNOTATION_PATTERN = re.compile(rb"\s*@[\w.]+(?:\((?:[^()\"]|\"[^\"\n]*\"|\([^()]*\))*\))?")


def _find_declaration_after_annotations(
    source: bytes, at: int, named: re.Pattern[bytes]
) -> re.Match[bytes] | None:
    while (more := _ANNOTATION_PATTERN.match(source, at)) is not None:
        at = more.end()
    return named.search(source, at, at + 400)


def _find_nest_routes(source: bytes) -> Iterator[FoundRoute]:
    """Yields the routes of a Nest controller: its methods with a path, below the path of the class."""
    owners = [
        (match.start(), _decode_one_line(match["path"]))
        for match in _NEST_CONTROLLER_PATTERN.finditer(source)
    ]
    for match in _NEST_DECORATOR_PATTERN.finditer(source):
        prefix = next((path for start, path in reversed(owners) if start < match.start()), None)
        if prefix is not None:
            method = _find_declaration_after_annotations(source, match.end(), _METHOD_DECLARATION_PATTERN)
            verb, path = (
                _decode_one_line(match["verb"]).upper(),
                _join_url_paths(prefix, _decode_one_line(match["path"])),
            )
            handler = _decode_one_line(method["name"]) if method is not None else ""
            yield FoundRoute(_first_text_position(match), match.end(), verb, path, handler)


# Go: net/http, Gin, Echo, Chi

_GO_ROUTE_METHODS_REGEX = (
    rb"GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|Any|Get|Post|Put|Delete|Patch|HandleFunc|Handle"
)
_QUICK_GO_ROUTE_PATTERN = re.compile(rb"\.(?:" + _GO_ROUTE_METHODS_REGEX + rb")\(\s*[\"`]")
_GO_ROUTE_PATTERN = re.compile(
    rb"^[ \t]*(?P<on>[A-Za-z_][\w.]*)\.(?P<word>"
    + _GO_ROUTE_METHODS_REGEX
    + rb")\(\s*[\"`](?P<path>[^\"`\n]{0,200})[\"`]\s*,",
    re.M,
)
_GO_ROUTE_PATH_PATTERN = re.compile(rb"(?:(?P<verb>[A-Z]+) )?(?P<path>[\w.-]*/.*)")


def find_go_routes(source: bytes) -> Iterator[FoundRoute]:
    for match in _find_matches_in_quick_lines(source, _QUICK_GO_ROUTE_PATTERN, _GO_ROUTE_PATTERN):
        said = _GO_ROUTE_PATH_PATTERN.fullmatch(match["path"])
        if said is None:
            continue
        handler, end = _find_route_handler(source, match.end())
        word = _decode_one_line(match["word"]).upper()
        verb = _decode_one_line(said["verb"]) if word in ("HANDLEFUNC", "HANDLE", "ANY") else word
        yield FoundRoute(_first_text_position(match), end, verb, _decode_one_line(said["path"]), handler)


def _join_url_paths(prefix: str, path: str) -> str:
    return "/" + "/".join(part.strip("/") for part in (prefix, path) if part.strip("/"))


def _first_text_position(match: re.Match[bytes]) -> int:
    """Returns the position of the first character of a match's line that is not blank."""
    text = match[0]
    return match.start() + len(text) - len(text.lstrip())
