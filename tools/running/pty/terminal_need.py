"""Decides whether a user's command needs a terminal, because it is interactive or draws on the screen.

Known programs are recognised by name; all others get a pipe."""

import shlex
from collections.abc import Sequence

from tools.lazy_patterns import lazy_regex

_INTERACTIVE_PROGRAMS = frozenset(
    (
        *(
            "vi",
            "vim",
            "nvim",
            "view",
            "vimdiff",
            "nano",
            "emacs",
            "micro",
            "hx",
            "helix",
            "kak",
            "ed",
            "joe",
            "mcedit",
        ),
        *("less", "more", "most", "man", "info", "w3m", "lynx", "links", "elinks"),
        *(
            "top",
            "htop",
            "btop",
            "atop",
            "iotop",
            "nvtop",
            "watch",
            "glances",
            "k9s",
            "ncdu",
            "ranger",
            "nnn",
            "mc",
        ),
        *("sudo", "su", "doas", "passwd", "ssh", "sftp", "telnet", "mosh", "visudo", "gpg", "login"),
        *("tmux", "screen", "zellij", "lazygit", "tig", "gitui", "fzf", "gum", "dialog", "whiptail"),
        *("gdb", "lldb", "pdb", "mutt", "nmtui", "fdisk", "cfdisk", "ssh-add", "ssh-copy-id", "scp"),
    )
)
_INTERACTIVE_WITHOUT_ARGUMENTS = frozenset(
    (
        *(
            "python",
            "python3",
            "ipython",
            "bpython",
            "node",
            "deno",
            "bun",
            "irb",
            "ghci",
            "lua",
            "julia",
            "R",
            "scala",
        ),
        *(
            "bash",
            "zsh",
            "fish",
            "sh",
            "psql",
            "mysql",
            "mariadb",
            "sqlite3",
            "redis-cli",
            "mongosh",
            "bc",
            "ftp",
        ),
    )
)
"""Programs that are interactive unless they get a script or code."""
_NON_INTERACTIVE_FLAGS = frozenset(
    ("-c", "-e", "-m", "-f", "-V", "--version", "--help", "-h", "-l", "--list")
)
_COMMAND_WRAPPERS = frozenset(("env", "command", "exec", "nice", "time", "nohup", "stdbuf"))
_SHELL_ASSIGNMENT_WORD_PATTERN = lazy_regex(r"[A-Za-z_]\w*=.*")
_COMMAND_SEPARATORS = frozenset((";", "&&", "||", "|", "&", "(", ")", "\n", ";;", "|&"))


def command_needs_terminal(command: str) -> bool:
    """Returns whether a command needs a terminal. False also if the command cannot be parsed, or its output is
    redirected."""
    if "<<" in command or "`" in command:
        return False
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    is_fed = False
    try:
        for word in [*lexer, ";"]:
            if word not in _COMMAND_SEPARATORS:
                words.append(word)
                continue
            leads_on = word in ("|", "|&")
            if _is_interactive(words, is_fed=is_fed, leads_on=leads_on):
                return True
            words, is_fed = [], leads_on
    except ValueError:
        return False
    return False


def _is_interactive(words: Sequence[str], *, is_fed: bool, leads_on: bool) -> bool:
    """Returns whether one command of a pipeline is interactive. `is_fed`: its input is piped; `leads_on`: its output is
    piped."""
    while words and (words[0] in _COMMAND_WRAPPERS or _SHELL_ASSIGNMENT_WORD_PATTERN.fullmatch(words[0])):
        words = words[1:]
    if not words or any(word in (">", ">>", "<") for word in words):
        return False
    name, rest = words[0].rpartition("/")[2], words[1:]
    if any(word in ("--help", "--version") for word in rest):
        return False
    if name == "git":
        return _is_interactive_git(rest) and not leads_on
    if name in ("sudo", "doas", "su", "ssh"):
        return not (name == "sudo" and "-n" in rest)
    if leads_on:
        return False
    if name in ("docker", "podman", "kubectl", "oc"):
        return any(word in ("-it", "-ti") or (word == "-t" and "-i" in rest) for word in rest)
    if name in ("crontab", "kubectl") and any(word in ("-e", "edit") for word in rest):
        return True
    if name in _INTERACTIVE_PROGRAMS:
        return True
    says_what = any(word in _NON_INTERACTIVE_FLAGS or not word.startswith("-") for word in rest)
    return name in _INTERACTIVE_WITHOUT_ARGUMENTS and not is_fed and not says_what


_GIT_NO_EDITOR_FLAGS = frozenset(
    ("-m", "-F", "-C", "--no-edit", "--message", "--file", "--dry-run", "--reuse-message")
)


def _is_interactive_git(rest: Sequence[str]) -> bool:
    """Returns whether a git command opens an editor, or asks about each hunk."""
    words = list(rest)
    while words and words[0].startswith("-"):
        takes_value = words[0] in ("-C", "-c", "--git-dir", "--work-tree")
        words = words[2 if takes_value else 1 :]
    if not words:
        return False
    verb, arguments = words[0], words[1:]
    short = "".join(word[1:] for word in arguments if word[:1] == "-" and word[:2] != "--")
    asks = any(word in ("-p", "--patch", "-i", "--interactive", "-e", "--edit") for word in arguments)
    match verb:
        case "commit":
            has_words = "m" in short or "F" in short or "C" in short
            return asks or not (
                has_words or any(word.partition("=")[0] in _GIT_NO_EDITOR_FLAGS for word in arguments)
            )
        case "rebase" | "add" | "checkout" | "restore" | "reset" | "stash" | "clean":
            return asks
        case "mergetool" | "difftool" | "gui":
            return True
        case "tag":
            return ("a" in short or "s" in short) and "m" not in short
        case "config":
            return asks
        case _:
            return False
