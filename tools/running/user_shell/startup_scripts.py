"""Scripts that make the user's bash or zsh report what its start-up files defined, even if these files end the
shell.

Each script replaces the start-up files and then reads the user's. It writes its report to `$BAYOU_OWN_SHELL` when
they have been read, when they end the shell (by `exit`, by `exec` of another program, or by a failure under `set
-e`), and when bayou sends USR1 after a timeout. `SHELL_REPORT_END_MARK` marks a complete report.
"""

from collections.abc import Mapping
from typing import Final

SHELL_REPORT_SECTION_MARK: Final = "\x01bayou "
SHELL_REPORT_END_MARK: Final = f"{SHELL_REPORT_SECTION_MARK}end\n"

_BASH_REPORT_SCRIPT: Final = r"""
__bayou_says() {
  builtin trap - EXIT USR1 DEBUG ERR RETURN
  builtin set +eufx
  local o a f IFS=$' \t\n' options
  options=$(
    for o in extglob globstar nullglob dotglob nocaseglob failglob autocd cdspell; do builtin shopt -p "$o"; done
    builtin shopt -po pipefail noclobber
  )
  builtin set +o posix
  builtin unset -f exit exec __bayou_says
  {
    builtin printf '%s\n' "$options"
    builtin compgen -A alias | while IFS= builtin read -r a; do
      builtin printf '\001bayou alias\n'; builtin alias -- "$a"
    done
    builtin compgen -A function | while IFS= builtin read -r f; do
      builtin printf '\001bayou function %s\n' "$f"; builtin declare -f -- "$f"
    done
    builtin printf '\001bayou end\n'
  } >|"$BAYOU_OWN_SHELL" 2>/dev/null
}
exit() {
  local status=$?
  if [ "$BASH_SUBSHELL" -eq 0 ]; then __bayou_says; fi
  builtin exit "${1:-$status}"
}
exec() {
  if [ "$#" -gt 0 ] && [ "$BASH_SUBSHELL" -eq 0 ]; then __bayou_says; builtin exit 0; fi
  builtin exec "$@"
}
builtin trap __bayou_says EXIT
builtin trap '__bayou_says; builtin exit 0' USR1
[ -r "$HOME/.bashrc" ] && . "$HOME/.bashrc"
__bayou_says
builtin exit 0
"""
_ZSHENV_SCRIPT: Final = r"""
ZDOTDIR=$BAYOU_ZDOTDIR
[[ -r $ZDOTDIR/.zshenv ]] && . "$ZDOTDIR/.zshenv"
BAYOU_ZDOTDIR=$ZDOTDIR
ZDOTDIR=$BAYOU_START_UP
"""
_ZSH_REPORT_SCRIPT: Final = r"""
ZDOTDIR=$BAYOU_ZDOTDIR
__bayou_says() {
  local o said=''
  for o in extendedglob nullglob globdots nocaseglob noclobber pipefail shwordsplit ksharrays; do
    [[ -o $o ]] && said+="setopt $o"$'\n'
  done
  emulate -L zsh
  builtin trap - EXIT USR1 DEBUG ZERR 2>/dev/null
  zshexit_functions=()
  local a f
  builtin unfunction exec __bayou_says TRAPUSR1 2>/dev/null
  {
    builtin print -rn -- "$said"
    for a in ${(k)aliases}; do builtin printf '\001bayou alias\n'; builtin alias -L -- "$a"; done
    for f in ${(k)functions}; do
      [[ $f == _* ]] || { builtin printf '\001bayou function %s\n' "$f"; builtin functions -- "$f"; }
    done
    builtin printf '\001bayou end\n'
  } >|"$BAYOU_OWN_SHELL" 2>/dev/null
}
exec() {
  if (( $# && ! ZSH_SUBSHELL )); then __bayou_says; builtin exit 0; fi
  builtin exec "$@"
}
TRAPUSR1() { __bayou_says; builtin exit 0 }
zshexit_functions=(__bayou_says)
[[ -r $ZDOTDIR/.zshrc ]] && . "$ZDOTDIR/.zshrc"
__bayou_says
builtin exit 0
"""
REPORTING_STARTUP_FILES_BY_SHELL: Final[Mapping[str, Mapping[str, str]]] = {
    "bash": {"start-up": _BASH_REPORT_SCRIPT},
    "zsh": {".zshenv": _ZSHENV_SCRIPT, ".zshrc": _ZSH_REPORT_SCRIPT},
}
"""The start-up files that replace the user's, by shell: each with its name and its script."""


def reporting_shell_argv(shell: str, name: str, folder: str) -> tuple[str, ...]:
    """Returns the arguments that start an interactive shell which reads the start-up files in `folder` first."""
    return (shell, *(("--rcfile", f"{folder}/start-up") if name == "bash" else ()), "-i", "-c", ":")


def reporting_shell_variables(folder: str, said: str, home: str, zdotdir: str) -> dict[str, str]:
    """Returns the environment variables of the shell that reports its start-up files; `said` is the file for the
    report."""
    return {
        "BAYOU_OWN_SHELL": said,
        "BAYOU_START_UP": folder,
        "BAYOU_ZDOTDIR": zdotdir or home,
        "ZDOTDIR": folder,
        "HOME": home,
        "TERM": "dumb",
    }
