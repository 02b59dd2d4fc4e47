"""Formats errors of a cell as its author would see them: from the cell's first own frame on."""
# pyright: basic

import linecache
import traceback

_MAX_TRACEBACK_CHARS = 16000
_MAX_CELLS_WITH_SOURCE = 200
_MAX_CELL_SOURCE_CHARS = 4_000_000


class CellErrorFormatter:
    def __init__(self, own_folder):
        self._own = own_folder
        self._kept = []

    def register_cell_source(self, file, code):
        """Registers the code of a cell, so that tracebacks, `inspect` and debuggers find its lines."""
        if len(code) > _MAX_CELL_SOURCE_CHARS:
            return
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        self._kept.append((file, len(code)))
        while (
            len(self._kept) > _MAX_CELLS_WITH_SOURCE
            or sum(size for _, size in self._kept) > _MAX_CELL_SOURCE_CHARS
        ):
            linecache.cache.pop(self._kept.pop(0)[0], None)

    def format_cell_error(self, problem):
        kind = type(problem)
        word = {"name": kind.__name__, "is_interrupt": isinstance(problem, KeyboardInterrupt)}
        try:
            text = self._traceback_text(problem)
        except BaseException:  # noqa: BLE001  (the exception is foreign, down to how it is printed)
            text = f"{kind.__name__} (it cannot be printed)"
        if len(text) > _MAX_TRACEBACK_CHARS:
            text = text[: _MAX_TRACEBACK_CHARS // 2] + "\n… (cut)\n" + text[-_MAX_TRACEBACK_CHARS // 2 :]
        word["text"] = text.encode("utf-8", "backslashreplace").decode()
        return word

    def _traceback_text(self, problem):
        whole = traceback.TracebackException.from_exception(problem)
        seen = set()
        waiting = [(whole, True)]
        while waiting:
            one, is_outer = waiting.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            self._without_kernel_frames(one, is_outer)
            waiting += [(one.__cause__, True), (one.__context__, True)]
            waiting += [(inner, False) for inner in getattr(one, "exceptions", None) or ()]
        return "".join(whole.format()).rstrip("\n")

    def _without_kernel_frames(self, one, is_outer):
        """Removes the kernel's own frames from a traceback of a cell."""
        if one.stack is None:
            return
        frames = [frame for frame in one.stack if not frame.filename.startswith(self._own)]
        if is_outer:
            first = next((at for at, frame in enumerate(frames) if frame.filename.startswith("<cell ")), None)
            if first is not None:
                frames = frames[first:]
        one.stack[:] = frames
