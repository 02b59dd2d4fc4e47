"""Variables that change what programs do."""

import re

from app.permits.letters import Finding
from app.permits.scope import ShellScope
from app.permits.words import names

HARMLESS = names(
    "LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES "
    "GREP_COLOR GREP_COLORS LS_COLORS TIME_STYLE BLOCK_SIZE POSIXLY_CORRECT CI DEBIAN_FRONTEND "
    "TIMEFORMAT HISTCONTROL PYTHONIOENCODING PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE "
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION"
)
"""Language, time zone, colour, width."""
POWERFUL = names(
    "PATH IFS CDPATH HOME ENV BASH_ENV PS0 PS1 PS2 PS4 PROMPT_COMMAND PAGER MANPAGER EDITOR VISUAL "
    "BROWSER LESSOPEN LESSCLOSE LESS TAR_OPTIONS RIPGREP_CONFIG_PATH NODE_OPTIONS SHELL SHELLOPTS "
    "BASHOPTS BASH_FUNC PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAKEFLAGS "
    "GREP_OPTIONS GCONV_PATH RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS EXECIGNORE GLOBIGNORE TMPDIR "
    "XDG_CONFIG_HOME AWKPATH AWKLIBPATH MANPATH FPATH HISTFILE INPUTRC BASH_XTRACEFD TMUX DISPLAY "
    "GOFLAGS RUSTC_WRAPPER RUSTFLAGS"
)
_POWERFUL_FORM = re.compile(
    r"(LD|DYLD|PYTHON(?!_)|npm_config|NPM_CONFIG|BASH_FUNC|SSH|AWS)_?\w*"
    r"|GIT_(?:DIR|WORK_TREE|\w*(?:EDITOR|PAGER|DIFF|SSH|ASKPASS|CONFIG|PATH|FILE|DIRECTOR|TEMPLATE|PROXY|PROTOCOL|TRACE|HTTP|"
    r"CURL|SSL|DISCOVERY|CEILING|ATTR|COMMON_DIR|HASH|PATHSPEC|LOCKS|REPLACE|SHALLOW|PROMPT|LFS|MERGE|NAMESPACE)\w*)"
    r"|KUBE(?:CONFIG|RC|_EDITOR|_CONFIG\w*)|CARGO_(?!PROFILE|TERM|INCREMENTAL)\w+|DOCKER_(?:HOST|CON\w+|CERT\w*|TLS\w*|DEFAULT\w*|API\w*)"
)


_ONLY_TEXT = re.compile(
    r"(?:GIT|DOCKER|CARGO|PYTHON)_(?:\w+_)?(?:COMMIT|SHA|BRANCH|TAGS?|VERSION|REVISION|REF|IMAGE|REPO|REPOSITORY|REGISTRY|USER|"
    r"USERNAME|HASH|DATE|NAME|EMAIL|URL|PUSH)|GIT_(?:AUTHOR|COMMITTER)_\w+"
)
"""What people call a value of their own, whatever it begins with."""


def is_powerful(name: str) -> bool:
    if name in POWERFUL:
        return True
    return (
        _POWERFUL_FORM.fullmatch(name) is not None and name not in HARMLESS and not _ONLY_TEXT.fullmatch(name)
    )


def judge_variable(
    name: str, value: str, scope: ShellScope, *, is_kept: bool, is_exported: bool = False
) -> list[Finding]:
    """An assignment; `is_kept`: of the shell, and not for one command. `is_exported`: programs see it."""
    if name in HARMLESS or name.startswith("LC_"):
        return []
    if name == "IFS":
        scope.splits_oddly = True
        return [Finding("R", "changes how words are split")] if is_kept or not value.strip() else []
    if is_powerful(name):
        if is_kept:
            scope.runs_elsewhere = f"{name} was changed, so that programs may do something else"
        return [Finding("X", f"{name} changes what programs do")]
    if is_kept:
        if is_exported and not scope.runs_elsewhere:
            scope.runs_elsewhere = f"{name} was set, so that programs may do something else"
        return []
    return [Finding("X", f"{name} may change what the program does")]
