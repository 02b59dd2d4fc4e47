"""What a verb's words are about: paths, ranges, patterns, replacements. Which verb they belong to: `words`."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from app.providers.offline.forms import DEMOS
from app.providers.offline.quotes import Quotes, is_quoted
from app.providers.offline.wishes import (
    IT,
    Demo,
    EditFile,
    FindName,
    Help,
    Incomplete,
    KeepTodos,
    ListFolder,
    MapFile,
    Overview,
    ReadFile,
    RunCommand,
    RunPython,
    SearchText,
    Wish,
    WriteFile,
)

_FILLER = re.compile(
    r"^(?:(?:a|an|all|any|to|for|of)\s+"
    r"|(?:the|me|my|our|this|file|files|folder|directory|contents? of|named|called|text|occurrences of|command)"
    r"(?:\s+|$))+",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"\s+(?:(?:all\s+)?at once|together|in parallel)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s+", re.IGNORECASE)
_RANGE = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:-(?P<last>\d*))?")
_LINES = re.compile(
    r"(?:(?:from\s+)?lines?\s+(?P<first>\d+)(?:\s*(?:-|to|until)\s*(?P<last>\d+))?)(?:\s+(?:of|in|from)\s+)?",
    re.IGNORECASE,
)
_SYMBOL = re.compile(
    r"(?:the\s+)?(?:symbol|function|class|method|section|heading)\s+(?P<name>\S+)\s+(?:in|of|from)\s+(?P<path>.+)",
    re.IGNORECASE,
)
_IN = re.compile(r"^(?P<what>.+?)\s+(?:in|under|inside|within)\s+(?P<where>\S.*)$", re.IGNORECASE | re.DOTALL)
_REPLACE = re.compile(
    r"^\s*(?:replace\s+)?(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.*)$", re.IGNORECASE | re.DOTALL
)
_PRONOUN_AT_END = re.compile(r"\s(?:in|inside|within)\s+(?:it|that|(?:that|this|the) file)$", re.IGNORECASE)
_NEXT_REPLACE = re.compile(r"\s*(?:[;,]|\band\b)\s*(?=replace\b)", re.IGNORECASE)
_CHANGE_TO = re.compile(
    r"^(?P<old>[^:]+?)\s+(?:to|into|with|by)\s+(?P<new>.+?)(?:\s+in\s+(?P<where>\S+))?(?:\s+please)?[.!]?\s*$",
    re.IGNORECASE | re.DOTALL,
)
_NO_COMMAND = re.compile(
    r"(?:the|my|our|all|this|these)\b.*|it|tests?|program|project|app|code", re.IGNORECASE
)
_WHERE_SAID = re.compile(
    r"(?P<name>\w+)\s+(?:is\s+)?(?P<how>defined|declared|implemented|used|called|mentioned)", re.IGNORECASE
)
_DEFINING = r"(?:class|const|def|fn|func|function|interface|struct|type)\s+"
_PROGRAM = re.compile(r"-\w|[\w./-]+\.py(?:\s|$)")
"""What stands behind the name of the program on a command line."""
_TODO_OPS: dict[str, Literal["add", "start", "done", "drop"]] = {
    **dict.fromkeys(("add", "new"), "add"),
    **dict.fromkeys(("start", "begin"), "start"),
    **dict.fromkeys(("done", "did", "finished", "finish", "close", "check"), "done"),
    **dict.fromkeys(("drop", "remove", "delete", "cancel"), "drop"),
}
_TODO = re.compile(rf"(?P<op>{'|'.join(_TODO_OPS)})\b[:\s]*(?P<items>.*)", re.IGNORECASE | re.DOTALL)
_PRONOUNS = {"it", "that", "this", "them", "that file", "this file", "the file", "same file", "the same file"}


def wishes_of(verb: str, word: str, argument: str, quotes: Quotes) -> Iterator[Wish]:
    """The wishes that `verb` (said as `word`) with its argument amounts to; at least one."""
    if verb == "edit":
        yield _edit(word, argument, quotes)
        return
    yield from _BY_VERB[verb](argument, quotes)


def _read(argument: str, quotes: Quotes) -> Iterator[Wish]:
    if argument.lower() in ("everything", "all"):
        argument = ""
    symbol = _SYMBOL.fullmatch(argument)
    if symbol:
        yield ReadFile(path=_path(symbol["path"], quotes), symbol=quotes.put_back(symbol["name"]))
        return
    lines = _LINES.search(argument)
    rest = (argument[: lines.start()] + " " + argument[lines.end() :]) if lines else argument
    paths = _paths(rest, quotes)
    if not paths:
        yield Incomplete(verb="read", question="Which file should I read? Say, for example: `read README.md`")
    for path in paths:
        if set(path) & set("*?"):
            yield FindName(name=path)  # its files are offered by number
        elif lines:
            yield ReadFile(path=path, first=int(lines["first"]), last=int(lines["last"] or lines["first"]))
        else:
            yield _with_range(path)


def _with_range(path: str) -> ReadFile:
    match = _RANGE.fullmatch(path)
    if match is None:
        return ReadFile(path=path)
    first = int(match["first"])
    last = first if match["last"] is None else int(match["last"]) if match["last"] else None
    return ReadFile(path=match["path"], first=first, last=last)


def _map(argument: str, quotes: Quotes) -> Iterator[Wish]:
    paths = _paths(argument, quotes)
    if not paths:
        yield Incomplete(verb="map", question="Of which file should I make a map? Say: `map FILE`")
    for path in paths:
        yield MapFile(path=path)


def _find(argument: str, quotes: Quotes) -> Iterator[Wish]:
    said = _WHERE_SAID.fullmatch(_FILLER.sub("", argument))
    if said:
        is_definition = said["how"].lower() in ("defined", "declared", "implemented")
        yield SearchText(pattern=rf"\b{_DEFINING if is_definition else ''}{said['name']}\b")
        return
    what, folder = _what_and_where(argument, quotes)
    names = _paths(what, quotes)
    if not names:
        yield Incomplete(verb="find", question="What is the name of what I should find? Say: `find NAME`")
    for name in names:
        yield FindName(name=name, folder=folder)


def _grep(argument: str, quotes: Quotes) -> Iterator[Wish]:
    what, where = _what_and_where(argument, quotes)
    pattern = quotes.put_back(what if is_quoted(what) else _FILLER.sub("", what)).strip()
    if not pattern:
        yield Incomplete(verb="grep", question="What should I search for? Say: `grep PATTERN`")
        return
    yield SearchText(pattern=pattern, where=where)


def _list(argument: str, quotes: Quotes) -> Iterator[Wish]:
    text = re.sub(r"^(?:the\s+)?(?:files|contents?|everything)?\s*(?:in|of|here)\b", "", argument, flags=re.I)
    paths = _paths(text, quotes)
    if not paths:
        yield ListFolder()
    for path in paths:
        yield ListFolder(path=path)


def _run(argument: str, quotes: Quotes) -> Iterator[Wish]:
    command = quotes.as_meant(argument).strip()
    if not command or (not is_quoted(argument) and _NO_COMMAND.fullmatch(command)):
        yield Incomplete(verb="run", question="Which command should I run? Say: `run COMMAND`")
        return
    yield RunCommand(command=command)


def _python(argument: str, quotes: Quotes) -> Iterator[Wish]:
    code = quotes.as_meant(argument).strip().strip("`")
    if not code:
        yield Incomplete(verb="python", question="Which code should I run? Say: `python 2+2`")
    elif _PROGRAM.match(code):
        yield RunCommand(command=f"python {code}")
    else:
        yield RunPython(code=code)


def _write(argument: str, quotes: Quotes) -> Iterator[Wish]:
    match = re.match(r"(?P<path>\S+?)\s*(?::|\bwith\b)\s*(?P<text>.+)", _FILLER.sub("", argument), re.DOTALL)
    if match is None:
        yield Incomplete(verb="write", question="What should the file contain? Say: `write FILE: TEXT`")
        return
    body = quotes.as_meant(match["text"].strip())
    yield WriteFile(path=_path(match["path"], quotes), text=body if body.endswith("\n") else body + "\n")


def _edit(word: str, argument: str, quotes: Quotes) -> Wish:
    path, changes = None, argument
    renamed = _CHANGE_TO.match(argument) if word in ("change", "rename") else None
    if renamed and not _NEXT_REPLACE.search(f" and {argument}"):
        where = _path(renamed["where"], quotes) if renamed["where"] else None
        pair = (quotes.put_back(renamed["old"].strip()), quotes.put_back(renamed["new"].strip()))
        return EditFile(path=where, replacements=(pair,))
    if word == "replace":
        what = _IN.match(argument) if not _REPLACE.match(argument) else _last_in(argument)
        if what:
            path, changes = what["where"], what["what"]
    else:
        match = re.match(r"(?P<path>\S+?)\s*(?::|,|\s)\s*(?P<rest>.*)$", argument + " ", re.DOTALL)
        if match:
            path, changes = match["path"], match["rest"].strip()
    where = _path(path, quotes) if path else None
    replacements = tuple(_replacements(changes, quotes))
    if not replacements:
        name = where or "FILE"
        question = f"What should I change in {name}? Say: `edit {name}: replace A with B`"
        return Incomplete(verb="edit", question=question)
    return EditFile(path=where, replacements=replacements)


def _last_in(argument: str) -> "re.Match[str] | None":
    """`A with B in FILE`: the file is behind the last `in`, if that is one word."""
    return re.match(r"^(?P<what>.+)\s+in\s+(?P<where>\S+)\s*$", argument, re.IGNORECASE | re.DOTALL)


def _replacements(text: str, quotes: Quotes) -> Iterator[tuple[str, str]]:
    for part in _NEXT_REPLACE.split(text):
        match = _REPLACE.match(part)
        if match:
            yield quotes.put_back(match["old"].strip()), quotes.put_back(match["new"].strip())


def _overview(argument: str, quotes: Quotes) -> Iterator[Wish]:
    paths = [path for path in _paths(argument, quotes) if "." in path or "/" in path]
    if paths:
        yield from (MapFile(path=path) for path in paths)
    else:
        yield Overview()


def _demo(argument: str, quotes: Quotes) -> Iterator[Wish]:
    kind = quotes.put_back(argument).strip().lower()
    if kind in DEMOS:
        yield Demo(kind=kind)
    else:
        yield Incomplete(
            verb="demo", question=f"There are these demos: {', '.join(DEMOS)}. Say: `demo {DEMOS[0]}`"
        )


def _help(argument: str, quotes: Quotes) -> Iterator[Wish]:
    yield Help()


def _what_and_where(argument: str, quotes: Quotes) -> tuple[str, str | None]:
    match = _IN.match(argument)
    if match is None:
        return argument, None
    where = quotes.put_back(_FILLER.sub("", match["where"])).strip()
    if _PRONOUN_AT_END.search(argument):
        return match["what"], IT
    return match["what"], None if where.lower() in ("here", "this project", "project", "") else where


def _paths(text: str, quotes: Quotes) -> list[str]:
    cleaned = text.strip()
    if cleaned.lower() in _PRONOUNS:
        return [IT]
    cleaned = _FILLER.sub("", _TOGETHER.sub("", cleaned))
    return [
        _path(word, quotes) for word in _BETWEEN.split(cleaned) if word.strip(".,;!?") or word in (".", "..")
    ]


def _path(text: str, quotes: Quotes) -> str:
    word = quotes.put_back(text.strip()).strip()
    if word.lower() in _PRONOUNS:
        return IT
    if word not in (".", "..") and not is_quoted(text):
        word = word.rstrip(",;:!?")
        if word.endswith(".") and not word.endswith(("/.", "..")):
            word = word[:-1]
    return word.removeprefix("@")


def _todo(argument: str, quotes: Quotes) -> Iterator[Wish]:
    argument = argument.strip(" ?!.")
    said = _TODO.fullmatch(argument)
    op = _TODO_OPS[said["op"].lower()] if said else "add"
    text = said["items"] if said else argument
    items = (quotes.put_back(part).strip() for part in re.split(r";", text))
    tasks = tuple(item for item in items if item)
    if op == "add":
        yield KeepTodos(op="add", tasks=tasks) if tasks else KeepTodos()
        return
    for task in tasks:
        yield KeepTodos(op=op, tasks=(task,))
    if not tasks:
        yield KeepTodos(op=op)


_BY_VERB: dict[str, Callable[[str, Quotes], Iterator[Wish]]] = {
    "read": _read,
    "map": _map,
    "find": _find,
    "grep": _grep,
    "list": _list,
    "run": _run,
    "python": _python,
    "write": _write,
    "overview": _overview,
    "demo": _demo,
    "todo": _todo,
    "help": _help,
}
