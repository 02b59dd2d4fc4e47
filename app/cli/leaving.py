"""The end of the process: what is written is out, and it goes without taking the interpreter apart, which would take
longer than some answers.
"""

import atexit
import os
import sys
import threading


def leave(code: int) -> None:
    """Ends the process, except while an extension's thread is still to be waited for: then it returns."""
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    if any(not thread.daemon for thread in others):
        return
    atexit._run_exitfuncs()  # what extensions and libraries have asked to be told
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # its reader has gone, which the code tells already
    os._exit(code)
