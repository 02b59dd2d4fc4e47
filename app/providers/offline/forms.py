"""The requests that the guide understands, as one table: parsing, help and tests read it."""

import msgspec


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of request."""

    verb: str
    """Its name here."""
    words: tuple[str, ...]
    """What people may say for it."""
    syntax: str
    example: str
    does: str


FORMS = (
    Form(
        verb="read",
        words=(
            "read",
            "show me",
            "show",
            "open",
            "cat",
            "view",
            "look at",
            "print",
            "what is in",
            "what's in",
            "whats in",
        ),
        syntax="read FILE",
        example="read README.md, pyproject.toml and src/main.py:10-40",
        does="reads files, several at once; a range of lines or `read function NAME in FILE`",
    ),
    Form(
        verb="map",
        words=("map", "outline"),
        syntax="map FILE",
        example="map src/main.py",
        does="shows the outline of a file: its functions, classes and headings with their lines",
    ),
    Form(
        verb="find",
        words=("find", "locate", "where is", "where are"),
        syntax="find NAME",
        example="find *.toml",
        does="finds files by name or pattern",
    ),
    Form(
        verb="grep",
        words=(
            "grep for",
            "grep",
            "search for",
            "search",
            "look for",
            "which files mention",
            "which files contain",
            "what files contain",
            "find usages of",
            "find references to",
            "what uses",
            "who uses",
        ),
        syntax="grep PATTERN",
        example='grep "def main" in src',
        does="searches the text of files (regular expressions)",
    ),
    Form(
        verb="list",
        words=(
            "list",
            "ls",
            "dir",
            "tree",
            "show files",
            "show me files",
            "show me the files",
            "show the files",
            "what files are there",
            "which files are there",
            "what is here",
        ),
        syntax="list",
        example="list src",
        does="lists a folder",
    ),
    Form(
        verb="run",
        words=("run", "execute", "$", "!"),
        syntax="run COMMAND",
        example="run git status",
        does="runs a command in the shell",
    ),
    Form(
        verb="python",
        words=("python", "evaluate", "calculate", "compute"),
        syntax="python CODE",
        example="python 2+2",
        does="runs Python that stays: what one request defines, the next can use",
    ),
    Form(
        verb="edit",
        words=("edit", "change", "rename", "in", "replace"),
        syntax="edit FILE: replace A with B",
        example='edit notes.txt: replace "one" with "two"',
        does="changes a file; quote the texts if they contain `with`",
    ),
    Form(
        verb="write",
        words=("write", "create", "make a new file", "make a file", "make file"),
        syntax="write FILE: TEXT",
        example="write notes.txt: remember the milk",
        does="writes a file",
    ),
    Form(
        verb="overview",
        words=("overview", "describe this project", "what does this project do", "what is this project"),
        syntax="what does this project do?",
        example="what does this project do?",
        does="lists its folder and reads its README",
    ),
    Form(
        verb="todo",
        words=(
            "todo",
            "todos",
            "to-do",
            "to-dos",
            "todo list",
            "to-do list",
            "show todos",
            "show me the todos",
            "show the todos",
            "show my todos",
            "show the todo list",
            "list todos",
            "list the todos",
            "what are the todos",
            "what are my todos",
            "what is on the todo list",
            "what's on the todo list",
            "what is to be done",
            "what has to be done",
            "what is left to do",
            "what's left to do",
            "what is still open",
        ),
        syntax="todo ITEM; ITEM",
        example="todo water the plants; feed the cat",
        does="adds to the list above the editor; `todos` tells it, `todo done ITEM` and `todo drop ITEM` close an item",
    ),
    Form(
        verb="demo",
        words=("demo",),
        syntax="demo markdown",
        example="demo markdown",
        does="shows a part of the interface: `demo markdown`, `demo long`, `demo tools`, `demo error`",
    ),
    Form(
        verb="help",
        words=("help", "what can you do", "who are you", "what are you"),
        syntax="help",
        example="help",
        does="shows this",
    ),
)

DEMOS = ("markdown", "long", "tools", "error")


def help_text() -> str:
    rows = "\n".join(f"| `{form.syntax}` | {form.does} |" for form in FORMS)
    return f"""I am bayou's offline guide: a small program, **not a language model**. I understand a few plain \
requests, really call the tools, and tell what came back. No network is used.

| Say | and I |
|---|---|
{rows}

Requests can be combined: `read a.py and grep main` is done at once, `write a.txt: hi then read a.txt` one after \
the other. Follow up with `more`, `again`, `it` for the file spoken of last, or the number of something I offered.

For real work, connect a language model: `/login`, or a key such as `ANTHROPIC_API_KEY` in the environment; then \
choose one with `/model`."""


_FIRST_STEPS = ("list", "what does this project do?", "run git status", "help")
"""They work in every folder."""


def greeting() -> str:
    examples = "\n".join(f"- `{example}`" for example in _FIRST_STEPS)
    return f"""Hello. I am bayou's offline guide: a small program, not a language model. I can look around with \
you until one is connected. Try:

{examples}"""
