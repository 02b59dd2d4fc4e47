"""Ends running commands when bayou itself is gone, however it went.

A tiny shell process reads which commands run from a pipe; when the pipe closes, because bayou ended or was
killed, it kills those that are still there. Nothing here runs before the first command does.
"""

import os
import subprocess

from tools.processtree import MARK_VARIABLE

_SCRIPT = rf"""
trap '' HUP INT TERM QUIT
running=
while read -r sign mark group; do
  case $sign in
  +) running="$running $mark:$group" ;;
  -) others=
     for entry in $running; do
       case $entry in "$mark":*) ;; *) others="$others $entry" ;; esac
     done
     running=$others ;;
  esac
done
for round in 1 2 3; do
  for entry in $running; do
    kill -9 -- "-${{entry#*:}}"
    for file in $(grep -laF "{MARK_VARIABLE}=${{entry%%:*}}" /proc/[0-9]*/environ); do
      pid=${{file#/proc/}}
      kill -9 "${{pid%/environ}}"
    done
  done
done
"""


class Guard:
    """One per process that runs commands; started with its first command."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    def watch(self, mark: str, group: int) -> None:
        self._tell(f"+ {mark} {group}\n")

    def forget(self, mark: str) -> None:
        if self._process is not None:
            self._tell(f"- {mark}\n")

    def close(self) -> None:
        """Lets the guard end; it ends what is still running first."""
        if self._process is None:
            return
        os.close(self._pipe)
        self._process.wait()
        self._process = None

    def _tell(self, line: str) -> None:
        if self._process is None:
            self._start()
        try:
            os.write(self._pipe, line.encode())
        except OSError:
            pass  # Somebody killed the guard: commands run unguarded, which is no reason to fail them.

    def _start(self) -> None:
        read_end, self._pipe = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
        finally:
            os.close(read_end)
