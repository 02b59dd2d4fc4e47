"""vi's registers: what was yanked and deleted, by name. Pure."""

from typing import NamedTuple

_OLDER = "123456789"


class Register(NamedTuple):
    text: str = ""
    is_lines: bool = False
    """Whole lines: put back above or below a line."""


class Registers:
    def __init__(self) -> None:
        self._kept: dict[str, Register] = {}

    @property
    def texts(self) -> list[str]:
        return [kept.text for kept in self._kept.values()]

    def get(self, name: str) -> Register:
        """Empty when nothing was put there."""
        return self._kept.get(name.lower(), Register())

    def record(self, name: str, text: str) -> None:
        """Keys: they go nowhere else."""
        if name.isupper():
            name, text = name.lower(), self.get(name).text + text
        self._kept[name] = Register(text)

    def yank(self, name: str, kept: Register) -> None:
        if self._keep(name, kept) and name == '"':
            self._kept["0"] = kept

    def delete(self, name: str, kept: Register) -> None:
        """Lines go through the numbered ones, parts of a line into the small one."""
        if not self._keep(name, kept) or name != '"':
            return
        if not kept.is_lines and "\n" not in kept.text:
            self._kept["-"] = kept
            return
        for older, newer in zip(reversed(_OLDER), reversed(_OLDER[:-1]), strict=False):
            if newer in self._kept:
                self._kept[older] = self._kept[newer]
        self._kept["1"] = kept

    def _keep(self, name: str, kept: Register) -> bool:
        """False: it went nowhere. A capital letter appends."""
        if name == "_":
            return False
        if name.isupper():
            name, kept = name.lower(), _appended(self.get(name), kept)
        self._kept[name] = self._kept['"'] = kept
        return True


def _appended(one: Register, more: Register) -> Register:
    is_lines = one.is_lines or more.is_lines
    return Register(f"{one.text}\n{more.text}" if is_lines and one.text else one.text + more.text, is_lines)
