"""An MCP server of the older era, on nothing but Python's own library, with every fault that a test asks for
by a word.

faulty.py WORD…: noise, exit-in-start, refuse-start, hang-in-start, hang-at-end, many, liar, broken-list, hostile, form
"""

import json
import os
import signal
import sys
import threading
import time

WORDS = set(sys.argv[1:])
SIGNS = os.environ.get("SIGNS", "")
"""Put into every text of the server and of its tool "signs", and into what other tools, prompts, resources and
questions get back as it is."""
TOOL = {"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}
FORM = {
    "message": "Which boat shall be booked?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name of the boat", "description": "as on the list"},
            "oars": {"type": "integer", "title": "Oars", "minimum": 1, "maximum": 8, "default": 4},
            "sail": {"type": "string", "title": "Sail", "enum": ["none", "lug", "gaff"], "default": "lug"},
            "insured": {"type": "boolean", "title": "With insurance"},
        },
        "required": ["name"],
    },
}
QUESTIONS = {
    "text": {"a": {"type": "string", "default": f"b{SIGNS}", "format": f"f{SIGNS}"}},
    "choice": {"a": {"type": "string", "enum": ["a", f"b{SIGNS}"]}},
    "field": {f"a{SIGNS}": {"type": "string"}},
}
renamed = threading.Event()
lock = threading.Lock()


def say(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def object_schema(**properties):
    return {"type": "object", "properties": properties}


def prompts():
    found = {"greet": "who", **({f"hail{SIGNS}": "who", "argument": f"who{SIGNS}"} if SIGNS else {})}
    return [{"name": name, "arguments": [{"name": one, "required": True}]} for name, one in found.items()]


def tools():
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    number = {"type": "object", "properties": {"count": {"type": "integer"}}}
    if "many" in WORDS:
        return [{**TOOL, "name": f"tool_{number}"} for number in range(10_000)]
    if "liar" in WORDS:
        bad = {"type": 5, "properties": 3, "required": "text", "anyOf": {"a": 1}, "enum": 1, "items": []}
        deep = {"type": "object", "properties": {"it": bad}}
        return [{**TOOL, "inputSchema": deep}, {**TOOL, "name": "echo"}, {**TOOL, "name": "echo x"}]
    if "broken-list" in WORDS:
        return [{**TOOL, "inputSchema": {"type": "object", "properties": 3}}]
    if SIGNS:
        texts = {"description": f"p{SIGNS}", "examples": [f"e{SIGNS}"], "x-note": {f"k{SIGNS}": f"v{SIGNS}"}}
        signs = object_schema(a={"type": "string", "enum": ["one\ntwo"], **texts}, b={f"en{SIGNS}um": 5})
        about = {"name": "signs", "title": f"Signs{SIGNS}", "description": f"Shows{SIGNS}"}
        return [
            {**TOOL, **about, "inputSchema": signs},
            {**TOOL, "name": "ask"},
            {**TOOL, "name": f"name{SIGNS}"},
            {**TOOL, "name": "property", "inputSchema": object_schema(**{f"a{SIGNS}": {"type": "string"}})},
            {**TOOL, "name": "enum", "inputSchema": object_schema(a={"enum": ["a", f"b{SIGNS}"]})},
            {**TOOL, "name": "const", "inputSchema": object_schema(a={"items": {"const": f"b{SIGNS}"}})},
            {**TOOL, "name": "default", "inputSchema": object_schema(a={"default": {f"b{SIGNS}": 1}})},
        ]
    if "hostile" in WORDS:
        return [{**TOOL, "name": "\x1b[2Jevil\u202e", "description": "[red]\x1b]52;c;AAAA\x07 \u200bhidden"}]
    about = os.environ.get("DESCRIPTION", TOOL["description"])
    first = {**TOOL, "description": about, "inputSchema": text, "annotations": {"readOnlyHint": True}}
    if renamed.is_set():
        first = {**first, "name": "repeat"}
    names = [
        "slow",
        "structured",
        "image",
        "for_user",
        "fails",
        "big",
        "deep",
        "rename",
        "die",
        "ask",
        "roots",
    ]
    return [first, *({**TOOL, "name": name, "inputSchema": number} for name in names)]


def call(number, name, arguments, token):
    def answer(*content, **more):
        say(id=number, result={"content": list(content), **more})

    def text(words):
        return {"type": "text", "text": words}

    if name == "echo" and arguments.get("text", "").startswith("$"):
        answer(text(os.environ.get(arguments["text"][1:], "?")))
    elif name in ("echo", "repeat") or name.startswith("tool_"):
        answer(text(arguments.get("text", "")))
    elif name == "slow":
        for step in range(arguments.get("count", 6)):
            time.sleep(0.4)
            progress = {"progressToken": token, "progress": step + 1, "total": 6, "message": "on it"}
            say(method="notifications/progress", params=progress)
        answer(text("slowly done"))
    elif SIGNS and name.startswith("signs"):
        message = {"progressToken": token, "progress": 1, "message": f"at it{SIGNS}"}
        say(method="notifications/progress", params=message)
        say(id="r1", method="roots/list")
        replies.get()
        answer(text(f"done{SIGNS}"))
    elif SIGNS and name == "ask":
        asked = {"message": "Which?", "requestedSchema": object_schema(**QUESTIONS[arguments["about"]])}
        say(id="e1", method="elicitation/create", params=asked)
        answer(text(json.dumps(replies.get())))
    elif name == "structured":
        answer(structuredContent={"degrees": 21})
    elif name == "image":
        answer({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}, text("a picture"))
    elif name == "for_user":
        answer({**text("only for you"), "annotations": {"audience": ["user"]}}, text("for both"))
    elif name == "fails":
        answer(text("no such \x1b[31mthing\x1b[0m"), isError=True)
    elif name == "big":
        answer(text("x" * arguments["count"]))
    elif name == "deep":
        deep = "[" * arguments["count"] + "]" * arguments["count"]
        with lock:
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{{"content":[],"deep":{deep}}}}}\n')
            sys.stdout.flush()
    elif name == "rename":
        renamed.set()
        for _ in range(5):
            say(method="notifications/tools/list_changed")
        answer(text("renamed"))
    elif name == "die":
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "roots":
        say(id="r1", method="roots/list")
        answer(text(json.dumps(replies.get())))
    elif name == "ask":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = FORM if "form" in WORDS else {"message": "Who?", "requestedSchema": schema}
        say(id="e1", method="elicitation/create", params=params)
        answer(text(json.dumps(replies.get())))


def handle(message):
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method is None:
        replies.put(message.get("result"))
    elif method == "initialize":
        if "hang-in-start" in WORDS:
            return
        if "refuse-start" in WORDS:
            say(id=number, error={"code": -32000, "message": f"not today{SIGNS}"})
            return
        about = {"name": "faulty", "version": f"1{SIGNS}"}
        offered = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        result = {"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": about}
        say(id=number, result={**result, "instructions": "Breaks in every way.\nAsk it nothing twice."})
    elif method == "tools/list":
        say(id=number, result={"tools": tools()})
    elif method == "resources/list":
        uris = ["note://1", *([f"note://2{SIGNS}"] if SIGNS else [])]
        say(id=number, result={"resources": [{"uri": uri, "name": "a note"} for uri in uris]})
    elif method == "resources/templates/list" and SIGNS:
        template = {"uriTemplate": f"note://{{number}}{SIGNS}", "name": "any note"}
        say(id=number, result={"resourceTemplates": [template]})
    elif method == "completion/complete" and SIGNS:
        say(id=number, result={"completion": {"values": ["Ada", f"Bob{SIGNS}"]}})
    elif method == "prompts/list":
        say(id=number, result={"prompts": prompts()})
    elif method == "resources/read":
        say(id=number, result={"contents": [{"uri": params["uri"], "text": "written down"}]})
    elif method == "prompts/get":
        said = {
            "role": "user",
            "content": {"type": "text", "text": f"Greet {params['arguments']['who']}{SIGNS}"},
        }
        say(id=number, result={"messages": [said]})
    elif method == "tools/call":
        token = (params.get("_meta") or {}).get("progressToken")
        arguments = (number, params["name"], params.get("arguments") or {}, token)
        threading.Thread(target=call, args=arguments, daemon=True).start()
    elif method == "notifications/cancelled":
        sys.stderr.write("was cancelled\n")
        sys.stderr.flush()
    elif number is not None:
        say(id=number, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    import queue

    replies = queue.Queue()
    sys.stderr.write("starting up\n")
    sys.stderr.flush()
    if "leaky" in WORDS:
        sys.stderr.write(f"using {os.environ['API_TOKEN']}\n")
        sys.stderr.flush()
    if "exit-in-start" in WORDS and "leaky" in WORDS:
        sys.exit(4)
    if "exit-in-start" in WORDS:
        sys.stderr.write("no config\n")
        sys.exit(3)
    if "flood" in WORDS:
        for number in range(100_000):
            sys.stderr.write(f"line {number} of a very chatty library that nobody asked for anything\n")
    if "hang-at-end" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(1000)
    if "noise" in WORDS:
        print("Hello from a chatty \x1b[2J library")
        print("{not json", flush=True)
    for line in sys.stdin:
        handle(json.loads(line))
    if "hang-at-end" in WORDS:
        time.sleep(1000)
