"""Implements `bayou man`: prints the manual page, which is made from the tables of the command line."""

from app.assembly.command_line_options import UsageError
from app.cli.flags import COMMAND_LINE_FLAG_GROUPS, CommandLineFlag
from app.cli.subcommands import SUBCOMMAND_HELP
from app.exit_codes import EXIT_CODE_MEANINGS
from app.printing import print_text
from app.version import VERSION


def run(words: list[str]) -> int:
    if words in (["-h"], ["--help"]):
        print_text("bayou man     print the manual page; to read it: bayou man | man -l -\n")
        return 0
    if words:
        raise UsageError("bayou man takes no arguments. It prints the page: bayou man | man -l -")
    print_text(manual_page())
    return 0


def manual_page() -> str:
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
        *(f".TP\n.B {_escape_roff(name)}\n{_escape_roff(text)}" for name, text in SUBCOMMAND_HELP.items()),
    ]
    for group in COMMAND_LINE_FLAG_GROUPS:
        parts += [f'.SH "{group.title.upper()}"', *map(_option_section, group.flags)]
    parts += [
        ".SH EXIT STATUS",
        *(f".TP\n.B {code}\n{_escape_roff(meaning)}" for code, meaning in EXIT_CODE_MEANINGS.items()),
    ]
    return "\n".join(parts) + "\n"


def _option_section(flag: CommandLineFlag) -> str:
    names = ", ".join([*([f"-{flag.short}"] if flag.short else []), f"--{flag.name}"])
    value = rf" \fI{_escape_roff(flag.value_placeholder)}\fR" if flag.value_placeholder else ""
    choices = f" One of {', '.join(flag.choices)}." if flag.choices else ""
    return rf".TP{chr(10)}\fB{_escape_roff(names)}\fR{value}{chr(10)}{_escape_roff(flag.help)}.{choices}"


def _escape_roff(text: str) -> str:
    """Escapes a text, so that nothing in it is a command of the language of man pages."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
