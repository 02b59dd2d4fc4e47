"""The launch frame: the empty page as the last start drew it. The next start shows it at once, while Python
is loading.

There is a file per terminal size. It records what it depends on: bayou's version, the terminal's
capabilities, the settings and the theme. It contains nothing of a session, a model or a folder. Imports
only system modules, like `widgets.terminal.early_terminal`, which shows it."""

import os

from app.version import VERSION

TYPE_CHECKING = False
"""A constant that type checkers take as true; used instead of `typing.TYPE_CHECKING`, because importing `typing`
takes as long as this whole module."""
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TERMINAL_ENVIRONMENT_VARIABLES = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "COLORFGBG",
    "NO_COLOR",
    "LANG",
    "LC_ALL",
)
_CAPABLE_TERMINALS = (
    "xterm",
    "tmux",
    "screen",
    "alacritty",
    "foot",
    "ghostty",
    "kitty",
    "konsole",
    "rio",
    "rxvt",
    "st-",
    "vte",
    "wezterm",
)
"""The names of terminals that have an alternate screen; other terminals start without a launch frame."""
_MAX_STORED_LAUNCH_FRAMES = 8
_MAX_LAUNCH_FRAME_BYTES = 1 << 20


class LaunchFrame:
    """A drawn page. `row` and `column`, from 1, are the position of typed text, `room` its width in cells,
    `style` its style.

    `theme` is the file that the theme was read from, or empty."""

    def __init__(self, *, row: int, column: int, room: int, style: bytes, theme: str, content: bytes) -> None:
        self.row, self.column, self.room = row, column, room
        self.style, self.theme, self.content = style, theme, content

    def is_equal_to(self, other: "LaunchFrame | None") -> bool:
        return other is not None and vars(self) == vars(other)


def supports_launch_frame(env: "Mapping[str, str]") -> bool:
    return env.get("TERM", "").startswith(_CAPABLE_TERMINALS)


def read_launch_frame(size: tuple[int, int], env: "Mapping[str, str]", cwd: str) -> LaunchFrame | None:
    """Returns the stored frame, or None if there is none that matches, is complete and belongs to the user."""
    try:
        with open(_frame_path(size, env), "rb") as file:  # noqa: PTH123  (a `Path` costs more than all of this)
            status = os.fstat(file.fileno())
            if (
                status.st_mode & 0o077
                or status.st_uid != os.getuid()
                or status.st_size > _MAX_LAUNCH_FRAME_BYTES
            ):
                return None
            key, place, style, theme, length, content = file.read().split(b"\n", 5)
        row, column, room = map(int, place.split())
        theme = os.fsdecode(theme)
        frame = LaunchFrame(row=row, column=column, room=room, style=style, theme=theme, content=content)
    except (OSError, ValueError):
        return None
    is_whole = (
        int(length) == len(content) and 0 < row <= size[1] and 0 < column <= column + room <= size[0] + 1
    )
    return frame if is_whole and key == _validity_key(size, env, cwd, frame.theme) else None


def write_launch_frame(frame: LaunchFrame, size: tuple[int, int], env: "Mapping[str, str]", cwd: str) -> None:
    """Stores the frame; a write error leaves no frame."""
    from pathlib import Path  # noqa: PLC0415  (who shows a frame must not pay for writing one)

    from tools.files.atomic_replacement import replace_file_atomically  # noqa: PLC0415  (likewise)

    path = Path(_frame_path(size, env))
    place = b"%d %d %d" % (frame.row, frame.column, frame.room)
    parts = (
        _validity_key(size, env, cwd, frame.theme), place, frame.style, os.fsencode(frame.theme),
        b"%d" % len(frame.content), frame.content,
    )  # fmt: skip
    try:
        replace_file_atomically(path, b"\n".join(parts), mode=0o600, durable=False)
        others = sorted(path.parent.iterdir(), key=lambda other: other.stat().st_mtime, reverse=True)
        for other in others[_MAX_STORED_LAUNCH_FRAMES:]:
            other.unlink()
    except OSError:
        pass


def remove_all_launch_frames(env: "Mapping[str, str]") -> None:
    """Deletes all stored launch frames."""
    folder = os.path.dirname(_frame_path((0, 0), env))  # noqa: PTH120
    try:
        for name in os.listdir(folder):  # noqa: PTH208
            os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
    except OSError:
        pass


def _frame_path(size: tuple[int, int], env: "Mapping[str, str]") -> str:
    return os.path.join(_agent_dir(env), "cache", "launch", f"{size[0]}x{size[1]}")  # noqa: PTH118


def _agent_dir(env: "Mapping[str, str]") -> str:
    """Returns the agent folder, by the same rule as `Paths`."""
    home = env.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
    named = env.get("BAYOU_AGENT_DIR") or ""
    if named == "~" or named.startswith("~/"):
        named = home + named[1:]
    return os.path.abspath(named) if named else os.path.join(home, ".bayou", "agent")  # noqa: PTH100, PTH118


def _validity_key(size: tuple[int, int], env: "Mapping[str, str]", cwd: str, theme: str) -> bytes:
    agent = _agent_dir(env)
    files = [theme, *(os.path.join(agent, name) for name in ("settings.json", "keybindings.json"))]  # noqa: PTH118
    files += _settings_above(cwd)
    said = [env.get(name) for name in _TERMINAL_ENVIRONMENT_VARIABLES]
    return repr((VERSION, size, said, [_file_stamp(path) for path in files])).encode("utf-8", "replace")


def _settings_above(cwd: str) -> "Sequence[str]":
    """Returns the project settings files from `cwd` upwards, because they also apply to the folders below
    them."""
    found = [os.path.join(cwd, ".bayou", "settings.json")]  # noqa: PTH118
    while (above := os.path.dirname(cwd)) != cwd:  # noqa: PTH120
        cwd = above
        found.append(os.path.join(cwd, ".bayou", "settings.json"))  # noqa: PTH118
    return found


def _file_stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size
