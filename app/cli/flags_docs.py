"""docs/command-line.md, whose tables are made from the flags. `python -m app.cli.flags_docs` writes it."""

from pathlib import Path

from app.cli.flags import GROUPS, Flag
from app.cli.subcommands import HELP
from app.resources.files import write_text

PAGE = Path("docs/command-line.md")

_BEGINNING = """# The command line

In print, JSON and RPC mode everything but dangerous commands runs unasked, as in pi; `--permissions auto-edit` contains
commands in the [sandbox](sandbox.md), as on the full screen. A question that nobody can
answer is a refusal.

    bayou [options] [@file…] [message…]
    bayou COMMAND …

Without a message and with a terminal, bayou opens full screen. With `-p`, or when standard input or output is not a
terminal, it answers and ends. What is piped in goes before the files' texts and those before the first message;
each further message is a prompt of its own. `--` ends the options. A value follows as the next word or after `=`.

Exit codes: 0 done, 1 failed or (as in pi) not understood, 70 an internal error, 128 and the signal's number when
stopped. Beyond pi there are `--cwd`, `--safe`, `--no-merge-deltas` and `--rpc-ready`; pi's `--tui-mode` is
unknown here, there being one screen.

A session that another process is writing is not opened a second time, and one whose folder is gone is not continued
elsewhere: bayou says who holds it or what is missing, and `--fork` makes a copy to go on with.

Generated from `app/cli/flags.py` by `python -m app.cli.flags_docs`; a test compares the two.
"""


def page() -> str:
    parts = [_BEGINNING, "## Commands\n", "| Command | Meaning |\n| --- | --- |"]
    parts += [f"| `bayou {name}` | {_cell(text)} |" for name, text in HELP.items()]
    for group in GROUPS:
        parts += [f"\n## {group.title}\n", "| Option | Meaning |\n| --- | --- |"]
        parts += [_row(flag) for flag in group.flags]
    return "\n".join(parts) + "\n"


def _row(flag: Flag) -> str:
    names = [f"`-{flag.short}`"] if flag.short else []
    names.append(f"`--{flag.name}{' ' + _cell(flag.value) if flag.value else ''}`")
    choices = f" One of {', '.join(f'`{choice}`' for choice in flag.choices)}." if flag.choices else ""
    again = " May be given several times." if flag.is_repeatable else ""
    return f"| {', '.join(names)} | {_cell(flag.help)}.{choices}{again} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    write_text(Path(__file__).resolve().parents[2] / PAGE, page())


if __name__ == "__main__":
    main()
