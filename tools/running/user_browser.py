"""Opens pages in the user's browser. The browser stays open, so it gets no secrets; one from the project's folder
is never used."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tools.running.withheld_environment_variables import environment_for_child_processes

_BROWSER_LAUNCH_TIMEOUT = 20
"""The number of seconds to wait for the launcher of a browser, because some launchers end only with the browser."""


async def open_page_in_browser(address: str, *, outside: Path) -> None:
    """Opens a page in the user's browser; does nothing without a browser, because the caller shows the address too."""
    if not address.startswith(("http://", "https://")):
        return
    variables = environment_for_child_processes()
    variables.pop("TERM", None)  # a terminal browser would draw over bayou
    variables["PATH"] = os.pathsep.join(_search_folders_outside(variables.get("PATH", os.defpath), outside))
    try:
        process = subprocess.Popen(  # noqa: ASYNC220  (a fork; its end is waited for in a thread)
            [sys.executable, "-I", "-m", "webbrowser", "-t", address],
            env=variables,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return
    ended = asyncio.ensure_future(asyncio.to_thread(process.wait))
    try:
        await asyncio.wait({ended}, timeout=_BROWSER_LAUNCH_TIMEOUT)
    finally:
        process.kill()  # a waiting thread prevents bayou from ending; the browser itself continues


def _search_folders_outside(path: str, outside: Path) -> list[str]:
    """Returns the absolute folders of a search path that are not below `outside`."""
    forbidden = Path(os.path.realpath(outside))
    return [
        entry
        for entry in path.split(os.pathsep)
        if os.path.isabs(entry)  # noqa: PTH117  (an empty entry is no Path)
        and not Path(os.path.realpath(entry)).is_relative_to(forbidden)
    ]
