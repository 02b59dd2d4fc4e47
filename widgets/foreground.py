"""Who holds the terminal: stepping aside for the shell, with everybody who was started together with us."""

import os
import signal


def stop_group() -> bool:
    """Stops all processes in the foreground, as the terminal's own Ctrl+Z does, and returns when they go on.

    Those that wait for us (`make`, `time`, a script) have to stop too: the shell waits for them, not for us. False: we
    were not stopped, because nobody is there who could let us go on.
    """
    has_stopped = False

    def note(number: int, frame: object) -> None:
        nonlocal has_stopped
        has_stopped = True

    stopping = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    going_on = signal.signal(signal.SIGCONT, note)
    try:
        # One call for all: a shell that goes on with us before we have stopped takes that back with it. Where there is
        # no shell the system passes it over.
        os.killpg(0, signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, stopping)
        signal.signal(signal.SIGCONT, going_on)
    return has_stopped
