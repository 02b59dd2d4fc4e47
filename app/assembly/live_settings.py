"""Settings that follow their files: read again when a file has changed, at moments when that is looked for.

Nothing polls: a run's beginning and the terminal's focus are such moments.
"""

from collections.abc import Callable
from pathlib import Path

from app.assembly.applying import put_in_force
from app.assembly.build import Assembled, with_flags
from app.assembly.options import Options
from app.resources.paths import Paths
from app.resources.settings import Settings, load_settings
from app.values.events import AgentStart, Event

Stamp = tuple[int, int] | None
"""When a file was written last, and its size; None: there is none."""


class LiveSettings:
    def __init__(
        self,
        assembled: Assembled,
        options: Options,
        paths: Paths,
        changed: Callable[[Settings], None] = lambda before: None,
    ) -> None:
        self._assembled = assembled
        self._options = options
        self._paths = paths
        self._changed = changed
        self._stamps = self._look()

    def note(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            self.follow()

    def follow(self) -> None:
        """What is wrong with a file is told; its sound values count all the same."""
        stamps = self._look()
        if stamps == self._stamps:
            return
        self._stamps = stamps
        here = self._assembled
        loaded = load_settings(self._paths, is_trusted=here.trust.is_trusted)
        before, here.settings = here.settings, with_flags(loaded.settings, self._options)
        here.unknown_settings = loaded.extra
        for problem in loaded.problems:
            here.session.notify(str(problem), "warning")
        if here.settings != before:
            put_in_force(here.session, here.settings)
            self._changed(before)

    def _look(self) -> tuple[Stamp, ...]:
        return tuple(_stamp(file) for file in (self._paths.settings_file, self._paths.project_settings_file))


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
