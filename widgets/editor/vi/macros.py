"""vi's macros: keys that are recorded into a register as they are typed, and played from one. Knows no widget."""

from widgets.editor import commands
from widgets.editor.model import EditorModel
from widgets.editor.vi.mode import Fed, ViMode

_MOST_KEYS = 20_000
"""Played for one command: macros may call themselves."""
_WRITES = {
    "\x08": commands.delete_backward,
    "\x17": commands.kill_word_backward,
    "\x15": commands.kill_to_line_start,
}
"""Keys of insert mode that write nothing."""


class Macros:
    """What hears the keys instead of the mode, which carries them out."""

    def __init__(self, model: EditorModel, mode: ViMode) -> None:
        self._model = model
        self._mode = mode
        self.recording = ""
        """The register that is recorded into."""
        self._keys: list[str] = []
        self._last = ""
        self._left = 0
        """Keys that may still be played; 0: nothing is being played."""

    def feed(self, key: str) -> Fed:
        """A key outside of insert mode."""
        mode = self._mode
        if self.recording and key == "q" and not mode.keys:
            self._finish()
            return "done"
        self.heard(key)
        fed = mode.feed(key)
        if fed == "record":
            self.recording, self._keys = mode.said.char, []
        elif fed == "play":
            self._begin(mode.said.char, mode.said.times)
        else:
            return fed
        return "done"

    def escape(self) -> bool:
        self.heard("\x1b")
        return self._mode.escape()

    def heard(self, key: str) -> None:
        """A key of insert mode too."""
        if self.recording and key and not self._left:
            self._keys.append(key)

    def unhear(self) -> None:
        """The last key was taken back."""
        if self.recording and self._keys:
            self._keys.pop()

    def _finish(self) -> None:
        self._model.registers.record(self.recording, "".join(self._keys))
        self.recording = ""

    def _begin(self, name: str, count: int) -> None:
        name = self._last if name == "@" else name
        self._last = name
        is_outer = not self._left
        if is_outer:
            self._left = _MOST_KEYS
        self._play(self._model.registers.get(name).text, count)
        if is_outer:
            self._left = 0

    def _play(self, keys: str, count: int) -> None:
        """Until the end, or until a command fails."""
        mode = self._mode
        mode.has_failed = not keys
        for _ in range(count):
            for key in keys:
                if mode.has_failed or self._left <= 1:
                    return
                self._left -= 1
                if key == "\x1b":
                    mode.escape()
                elif mode.mode == "insert":
                    self._write(key)
                elif self.feed(key) in ("older", "newer"):
                    mode.has_failed = True

    def _write(self, key: str) -> None:
        write = _WRITES.get(key)
        if write is not None:
            write(self._model)
        elif key.isprintable() or key in "\n\t":
            self._model.type(key)
