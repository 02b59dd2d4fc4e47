"""Generates docs/command-line.md, whose tables come from the flags. `python -m app.cli.flags_docs`
writes it."""

from pathlib import Path

from app.cli.commands.man_command import manual_page
from app.cli.flags import COMMAND_LINE_FLAG_GROUPS, CommandLineFlag
from app.cli.subcommands import SUBCOMMAND_HELP
from app.exit_codes import EXIT_CODE_MEANINGS
from app.resources.text_files import write_text

MAN_PAGE_FILE = Path("docs/bayou.1")
COMMAND_LINE_DOCS_FILE = Path("docs/command-line.md")

_COMMAND_LINE_DOCS_INTRODUCTION = """# The command line

All flags and subcommands of `bayou`, for looking them up.

    bayou [options] [@file…] [message…]
    bayou COMMAND …
    bayou -p @notes.md "summarise this"

Without a message, and on a terminal, bayou opens the full screen. With `-p`, or if standard input or output is not a
terminal, it answers and exits. The first prompt consists of standard input, the files' texts and the first message,
in this order; each further message is a separate prompt. `--` ends the options. A value is the next word or follows
`=`.

In print, JSON and RPC mode everything except dangerous commands runs without asking, as in pi; `--permissions
auto-edit` runs commands in the [sandbox](sandbox.md), as on the full screen. Without a person, a question counts as
denied.

`--cwd`, `--safe`, `--no-merge-deltas` and `--rpc-ready` do not exist in pi; pi's `--tui-mode`
does not exist here.

bayou does not open a session that another process is writing, or whose folder is gone: it names the process or the
folder, and `--fork` continues in a copy.

Generated from `app/cli/flags.py` by `python -m app.cli.flags_docs`; a test compares the two.
"""

_USAGE_LIMITS_DOCS = """\
The limits are checked before each request: the running request finishes, and no further one is sent. When the time of
`--time-limit` is over, running tools, jobs and the request are stopped too. Turns are requests of the agent, retries
included; summaries count towards cost and tokens only. `--max-cost` is refused for a model without prices: limit its
tokens or turns. With `--output-schema` standard output is JSON that matches the schema; bayou asks up to two more times
if an answer does not match. It does not fetch a `$ref` to an address. With `--goal-check` the agent continues until
that command exits with 0 ([goals.md](goals.md)).

    bayou -p --max-turns 20 --max-cost 0.50 --output-schema review.json "review the last commit"

`--result DIR` stores these files of a run, also if it failed or was stopped:

| File | Contains |
| --- | --- |
| `answer.md` | the last answer |
| `changes.patch` | what the session changed in files, for `git apply` |
| `usage.json` | exit code, turns, model, tokens and cost |
| `trajectory.json` | all steps in Harbor's format ATIF 1.7; images are named but not included |
| `session.jsonl` | the session, which `bayou --session FILE` opens |

Empty files are not written. Files of an earlier run are removed first.
"""


def command_line_docs_text() -> str:
    parts = [_COMMAND_LINE_DOCS_INTRODUCTION, "## Commands\n", "| Command | Meaning |\n| --- | --- |"]
    parts += [f"| `bayou {name}` | {_escape_cell(text)} |" for name, text in SUBCOMMAND_HELP.items()]
    parts += ["\n## Exit codes\n", "| Code | Meaning |\n| --- | --- |"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODE_MEANINGS.items()]
    parts += [f"\n{_USAGE_LIMITS_DOCS}"]
    for group in COMMAND_LINE_FLAG_GROUPS:
        parts += [f"\n## {group.title}\n", "| Option | Meaning |\n| --- | --- |"]
        parts += [_flag_row(flag) for flag in group.flags]
    return "\n".join(parts) + "\n"


def _flag_row(flag: CommandLineFlag) -> str:
    names = [f"`-{flag.short}`"] if flag.short else []
    names.append(
        f"`--{flag.name}{' ' + _escape_cell(flag.value_placeholder) if flag.value_placeholder else ''}`"
    )
    choices = f" One of {', '.join(f'`{choice}`' for choice in flag.choices)}." if flag.choices else ""
    again = " Repeatable." if flag.is_repeatable else ""
    return f"| {', '.join(names)} | {_escape_cell(flag.help)}.{choices}{again} |"


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    write_text(root / COMMAND_LINE_DOCS_FILE, command_line_docs_text())
    write_text(root / MAN_PAGE_FILE, manual_page())


if __name__ == "__main__":
    main()
