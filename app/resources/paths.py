"""The paths of bayou's files: its own folder, the project's, sessions, caches, crash reports, shipped styles."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from app.resources.text_files import symlink_escape
from tools.files.path_existence import exists, is_dir
from tools.files.paths import AddedWorkingFolders

PROJECT_BAYOU_FOLDER_NAME = ".bayou"


class BayouPaths(msgspec.Struct, kw_only=True):
    """All paths of one process. It creates and reads nothing; writers create their folders.

    The working folder changes when a session of another project opens (`enter`), so the paths that depend
    on it are properties, which callers must not store."""

    home: Path
    cwd: Path
    agent_dir: Path
    """The folder of bayou's own files: `~/.bayou/agent`, or `BAYOU_AGENT_DIR`."""
    sessions_dir: Path
    """The root of all sessions, with one folder per working directory: `BAYOU_SESSION_DIR`, or in the
    agent folder."""
    added_folders: AddedWorkingFolders = msgspec.field(default_factory=AddedWorkingFolders)
    """The folders that the session works in besides `cwd`."""

    @classmethod
    def from_env(cls, env: Mapping[str, str], cwd: Path) -> "BayouPaths":
        home = Path(env.get("HOME") or env.get("USERPROFILE") or Path.home())
        agent_dir = _folder_from_variable(env.get("BAYOU_AGENT_DIR"), home, cwd) or home / ".bayou" / "agent"
        sessions = _folder_from_variable(env.get("BAYOU_SESSION_DIR"), home, cwd) or agent_dir / "sessions"
        return cls(home=home, cwd=_absolute(cwd), agent_dir=agent_dir, sessions_dir=sessions)

    def switch_to(self, folder: Path) -> None:
        self.cwd = folder

    @property
    def project_dir(self) -> Path:
        """The project's `.bayou` folder, whose files apply only to a trusted project."""
        return self.cwd / PROJECT_BAYOU_FOLDER_NAME

    @property
    def settings_file(self) -> Path:
        return self.agent_dir / "settings.json"

    @property
    def project_settings_file(self) -> Path:
        return self.project_dir / "settings.json"

    @property
    def keybindings_file(self) -> Path:
        return self.agent_dir / "keybindings.json"

    @property
    def trust_file(self) -> Path:
        return self.agent_dir / "trust.json"

    @property
    def cache_dir(self) -> Path:
        """The cache folder, whose files can be deleted at any time."""
        return self.agent_dir / "cache"

    @property
    def temporary_dir(self) -> Path:
        """The parent of temporary folders of one run."""
        return self.cache_dir / "working"

    @property
    def crash_dir(self) -> Path:
        return self.agent_dir / "crashes"

    @property
    def packages_dir(self) -> Path:
        return self.agent_dir / "packages"

    @property
    def themes_dir(self) -> Path:
        return self.agent_dir / "themes"

    @property
    def top(self) -> Path:
        """The top folder of the project that contains `cwd`: the repository's folder, unless that contains
        the user's home."""
        root = project_root(self.cwd)
        return self.cwd if root is None or (root != self.cwd and self.home.is_relative_to(root)) else root

    def symlink_escape(self, path: Path) -> str:
        """Says where a path in the project leads if its links leave the project; empty otherwise."""
        if path.is_relative_to(self.agent_dir):
            return ""
        return symlink_escape(path, self.top)

    def shown(self, path: Path) -> str:
        """Returns a path in short form for display: relative to the working folder, or with `~`."""
        for base, prefix in ((self.cwd, ""), (self.home, "~/")):
            if path != base and path.is_relative_to(base):
                return prefix + path.relative_to(base).as_posix()
        return str(path)


def bayou_state_folder(home: Path, env: Mapping[str, str]) -> Path:
    """Returns the folder for bayou's working folders, which is outside of its settings so that a sandbox can let
    commands work in one of them."""
    named = env.get("XDG_STATE_HOME")
    return (Path(named) if named else home / ".local" / "state") / "bayou"


def _folder_from_variable(value: str | None, home: Path, cwd: Path) -> Path | None:
    if not value:
        return None
    if value == "~" or value.startswith("~/"):
        return home / value[2:]
    return _absolute(cwd / value)


def _absolute(path: Path) -> Path:
    """Makes a path absolute without resolving symbolic links, because people know a folder by the name that
    they used."""
    return Path(os.path.normpath(path if path.is_absolute() else Path.cwd() / path))


def shipped_styles_dir() -> Path:
    """The shipped styles: `styles/` of a checkout, `app/_styles` of an installed wheel."""
    app = Path(__file__).resolve().parent.parent
    installed = app / "_styles"
    return installed if is_dir(installed) else app.parent / "styles"


def docs_dir() -> Path:
    """The shipped documentation with its examples, for users and for the agent: `docs/` or `app/_docs`."""
    app = Path(__file__).resolve().parent.parent
    installed = app / "_docs"
    return installed if is_dir(installed) else app.parent / "docs"


def project_root(cwd: Path) -> Path | None:
    """Returns the nearest folder at or above `cwd` with a `.git`; None outside any repository."""
    for folder in (cwd, *cwd.parents):
        if exists(folder / ".git"):
            return folder
    return None


def folders_up_to_project_top(cwd: Path, top: Path) -> Iterator[Path]:
    """Yields `cwd` and the folders above it, up to the project's top folder."""
    for folder in (cwd, *cwd.parents):
        yield folder
        if folder == top:
            return
