"""Implements `bayou completions SHELL`: prints the script with which a shell completes flags, commands, models and
sessions. The scripts are made from the tables of the command line, and ask bayou for models and sessions.
"""

import os
from collections.abc import Callable

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.flags import COMMAND_LINE_FLAGS, CommandLineFlag
from app.cli.subcommands import SUBCOMMAND_HELP
from app.printing import print_line, print_text
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.resources.paths import BayouPaths
from app.sessions.session_library import newest_sessions

_COMPLETIONS_USAGE_TEXT = """\
bayou completions bash     print a script for bash: add to ~/.bashrc  eval "$(bayou completions bash)"
bayou completions zsh      for zsh: add to ~/.zshrc, after compinit  eval "$(bayou completions zsh)"
bayou completions fish     for fish: bayou completions fish > ~/.config/fish/completions/bayou.fish
bayou completions models   list the models that have a key, one a line
bayou completions sessions list this folder's latest sessions, one id a line
"""
_FLAGS_COMPLETED_WITH_MODELS = ("model", "models")
_FLAGS_COMPLETED_WITH_SESSIONS = ("session", "session-id", "fork")
_PATH_VALUE_PLACEHOLDERS = ("FILE", "DIR", "PATH")


def run(words: list[str]) -> int:
    if words in (["-h"], ["--help"]):
        print_text(_COMPLETIONS_USAGE_TEXT)
        return 0
    made = _COMPLETION_OUTPUT_BY_ARGUMENT.get(words[0]) if len(words) == 1 else None
    if made is None:
        raise UsageError(
            f"bayou completions takes one of {', '.join(_COMPLETION_OUTPUT_BY_ARGUMENT)}. "
            f"Commands:\n{_COMPLETIONS_USAGE_TEXT}"
        )
    print_line(made())
    return 0


def _flag_names(flag: CommandLineFlag) -> list[str]:
    return [f"--{flag.name}", *([f"-{flag.short}"] if flag.short else [])]


def _completes_path(flag: CommandLineFlag) -> bool:
    return any(part in flag.value_placeholder.split("|") for part in _PATH_VALUE_PLACEHOLDERS)


def _bash_script() -> str:
    cases = [
        f"        {_case_pattern(_FLAGS_COMPLETED_WITH_MODELS)}) found=$(bayou completions models 2>/dev/null) ;;",
        f"        {_case_pattern(_FLAGS_COMPLETED_WITH_SESSIONS)}) found=$(bayou completions sessions 2>/dev/null) ;;",
    ]
    for flag in COMMAND_LINE_FLAGS:
        if flag.choices:
            cases.append(f"        {'|'.join(_flag_names(flag))}) found='{' '.join(flag.choices)}' ;;")
        elif flag.value_placeholder and flag.name not in (
            *_FLAGS_COMPLETED_WITH_MODELS,
            *_FLAGS_COMPLETED_WITH_SESSIONS,
        ):
            paths = "compopt -o default 2>/dev/null; " if _completes_path(flag) else ""
            cases.append(f"        {'|'.join(_flag_names(flag))}) {paths}return ;;")
    flags = " ".join(name for flag in COMMAND_LINE_FLAGS for name in _flag_names(flag))
    return "\n".join(
        (
            "_bayou() {",
            '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} found=""',
            "    COMPREPLY=()",
            '    case "$before" in',
            *cases,
            "        *)",
            f"            if [[ $word == -* ]]; then found='{flags}'",
            f"            elif ((COMP_CWORD == 1)); then "
            f"found='{' '.join(SUBCOMMAND_HELP)}'; compopt -o default 2>/dev/null",
            "            else compopt -o default 2>/dev/null; return; fi ;;",
            "    esac",
            '    mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")',
            "}",
            "complete -F _bayou bayou",
        )
    )


def _case_pattern(flags: tuple[str, ...]) -> str:
    return "|".join(name for flag in COMMAND_LINE_FLAGS if flag.name in flags for name in _flag_names(flag))


def _zsh_script() -> str:
    lines = ["#compdef bayou", "_bayou() {", "    local -a specs", "    specs=("]
    for flag in COMMAND_LINE_FLAGS:
        for name in _flag_names(flag):
            star = "*" if flag.is_repeatable else ""
            lines.append(
                f"        {_quote_for_fish(f'{star}{name}[{_escape_zsh_text(flag.help)}]{_zsh_completion(flag)}')}"
            )
    commands = " ".join(_quote_for_fish(f"{name}:{text}") for name, text in SUBCOMMAND_HELP.items())
    lines += [
        "    )",
        "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then",
        f"        local -a commands; commands=({commands})",
        "        _describe command commands",
        "    fi",
        '    _arguments -s $specs "*:file:_files"',
        "}",
        "compdef _bayou bayou",
    ]
    return "\n".join(lines)


def _escape_zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", r"\:")


def _zsh_completion(flag: CommandLineFlag) -> str:
    if not flag.value_placeholder:
        return ""
    title = flag.value_placeholder.lower().replace("|", " or ")
    if flag.name in _FLAGS_COMPLETED_WITH_MODELS:
        return f':{title}:{{compadd -- ${{(f)"$(bayou completions models 2>/dev/null)"}}}}'
    if flag.name in _FLAGS_COMPLETED_WITH_SESSIONS:
        return f':{title}:{{compadd -- ${{(f)"$(bayou completions sessions 2>/dev/null)"}}}}'
    if flag.choices:
        return f":{title}:({' '.join(flag.choices)})"
    return f":{title}:_files" if _completes_path(flag) else f":{title}:"


def _fish_script() -> str:
    lines = [
        f"complete -c bayou -n __fish_use_subcommand -a {name} -d {_quote_for_fish(text)}"
        for name, text in SUBCOMMAND_HELP.items()
    ]
    for flag in COMMAND_LINE_FLAGS:
        line = f"complete -c bayou -l {flag.name}"
        if flag.short:
            line += f" -s {flag.short}" if len(flag.short) == 1 else f" -o {flag.short}"
        if flag.value_placeholder:
            line += " -r" if _completes_path(flag) else " -x"
        if flag.name in _FLAGS_COMPLETED_WITH_MODELS:
            line += " -a '(bayou completions models 2>/dev/null)'"
        elif flag.name in _FLAGS_COMPLETED_WITH_SESSIONS:
            line += " -a '(bayou completions sessions 2>/dev/null)'"
        elif flag.choices:
            line += f" -a {_quote_for_fish(' '.join(flag.choices))}"
        lines.append(f"{line} -d {_quote_for_fish(flag.help)}")
    return "\n".join(lines)


def _quote_for_fish(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _model_names() -> str:
    paths = BayouPaths.from_env(os.environ, current_folder())
    credentials = Credentials(paths.agent_dir, os.environ)
    models = ModelCatalogue.load_catalogue(paths.agent_dir, env=os.environ).all_models()
    keyed = (
        model for model in models if model.api == "offline" or credentials.has_credential(model.provider)
    )
    return "\n".join(model.key for model in keyed if " " not in model.key)


def _session_ids() -> str:
    paths = BayouPaths.from_env(os.environ, current_folder())
    return "\n".join(one.id for one in newest_sessions(paths.sessions_dir, paths.cwd))


_COMPLETION_OUTPUT_BY_ARGUMENT: dict[str, Callable[[], str]] = {
    "bash": _bash_script,
    "zsh": _zsh_script,
    "fish": _fish_script,
    "models": _model_names,
    "sessions": _session_ids,
}
