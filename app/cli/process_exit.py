"""Ends the process after flushing its output, without Python's own finalisation, which would take longer than
some answers."""

import atexit
import os
import sys
import threading


def exit_process(code: int) -> None:
    """Ends the process at once, unless a thread of an extension still runs: then it returns."""
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    if any(not thread.daemon for thread in others):
        return
    atexit._run_exitfuncs()  # exit handlers of extensions and libraries
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader has gone, which the exit code shows already
    os._exit(code)
