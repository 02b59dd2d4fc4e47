"""Settings while a session runs: those that are set here hold at once, and files that changed are read again."""

from app.engine.telling import Telling
from app.resources.in_force import InForce
from app.resources.settings import SettingRefused


class Following:
    def __init__(self, in_force: InForce, telling: Telling) -> None:
        self._in_force = in_force
        self._telling = telling

    def keep(self, name: str, value: object) -> None:
        """Raises `SettingRefused` when the value does not fit; a file that cannot be written is told."""
        self._in_force.set(name, value)
        try:
            self._in_force.keep(name, value)
        except SettingRefused as problem:
            self._telling.notify(f"{name} holds for this session only: {problem}", "warning")

    def look(self) -> None:
        for problem in self._in_force.follow():
            self._telling.notify(str(problem), "warning")
