"""Implements `bayou man`: prints the manual page, which is made from the tables of the command line."""

from app.assembly.options import UsageError
from app.cli.flags import FLAG_GROUPS, Flag
from app.cli.subcommands import HELP
from app.exit_codes import MEANINGS
from app.printing import print_text
from app.version import VERSION


def run(words: list[str]) -> int:
    if words in (["-h"], ["--help"]):
        print_text("bayou man     print the manual page; to read it: bayou man | man -l -\n")
        return 0
    if words:
        raise UsageError("bayou man takes no arguments. It prints the page: bayou man | man -l -")
    print_text(manual())
    return 0


def manual() -> str:
    """Returns the page in the language of man pages."""
    parts = [
        f'.TH BAYOU 1 "" "bayou {VERSION}" "User Commands"',
        ".SH NAME",
        r"bayou \- a coding agent in your terminal",
        ".SH SYNOPSIS",
        r".B bayou",
        "[options] [@file…] [message…]",
        ".br",
        r".B bayou",
        "COMMAND …",
        ".SH DESCRIPTION",
        "Without a message bayou opens full screen. Each @file's text goes before the first message.",
        ".SH COMMANDS",
        *(f".TP\n.B {_text(name)}\n{_text(text)}" for name, text in HELP.items()),
    ]
    for group in FLAG_GROUPS:
        parts += [f'.SH "{group.title.upper()}"', *map(_option, group.flags)]
    parts += [".SH EXIT STATUS", *(f".TP\n.B {code}\n{_text(meaning)}" for code, meaning in MEANINGS.items())]
    return "\n".join(parts) + "\n"


def _option(flag: Flag) -> str:
    names = ", ".join([*([f"-{flag.short}"] if flag.short else []), f"--{flag.name}"])
    value = rf" \fI{_text(flag.value)}\fR" if flag.value else ""
    choices = f" One of {', '.join(flag.choices)}." if flag.choices else ""
    return rf".TP{chr(10)}\fB{_text(names)}\fR{value}{chr(10)}{_text(flag.help)}.{choices}"


def _text(text: str) -> str:
    """Returns text that no letter of is a command of the page's language."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
