"""The box that a call's processes run in: made of settings, of what the gate let run, and of what is on this machine.

What a box is, how it is made and which steps there are is `tools.box`' business. Bayou's own commands (git for undo,
ripgrep) and the person's `!` commands are not boxed.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.options import SessionOptions
from app.engine.whereabouts import Whereabouts, temporary_folders
from app.permits.credentials import daemons, shown_to
from app.permits.decide import CallDecision, Mode
from app.permits.leaving import LEAVING
from app.permits.secrets import FOLDERS, HOME_FILES, NAMES, OTHERS_FILES, START_UP, START_UP_FOLDERS
from app.resources.settings import Settings
from tools.base import ToolError
from tools.box.abilities import of_this_system
from tools.box.places import caches, git_places, guarded_in, real, sockets
from tools.box.plan import Abilities, Step
from tools.box.policy import Box, BoxKind, BoxNetwork, covering, outermost
from tools.files.presence import is_dir
from tools.workspace import Workspace

_REMEMBERED = 1_000
_BELIEVED_SECONDS = 1.0
_ON_FILES = frozenset({"read", "edit", "write", "grep", "find", "ls"})


class Leave(msgspec.Struct, frozen=True, kw_only=True):
    """How a call was let run."""

    kind: BoxKind | Literal["outside"] = "work"
    uses_network: bool = False
    """It said so, and was let run."""
    programs: frozenset[str] = frozenset()
    """What it runs, where every word of that is known."""


class BoxState(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to know of a session's boxes."""

    setting: Literal["auto", "off", "required"]
    step: Step
    """As far as this system can."""
    why: str
    """What stands in the way of more."""
    is_in_force: bool
    """The next command of the agent runs in one."""
    network: str
    writable: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def box_works(settings: Settings, abilities: Abilities | None = None) -> bool:
    """Whether commands can run where they reach nothing but the workspace, and are meant to."""
    return settings.sandbox.mode != "off" and (abilities or of_this_system()).step != "none"


class Boxes:
    """Those of one session."""

    def __init__(
        self,
        options: SessionOptions,
        workspace: Workspace,
        whereabouts: Whereabouts,
        *,
        mode: Callable[[], Mode],
        home: Path,
        own: Path,
    ) -> None:
        """`mode`: what runs unasked now. `own`: bayou's folder of settings and credentials."""
        self._mode = mode
        self._options = options
        self._workspace = workspace
        self._whereabouts = whereabouts
        self._home = os.path.realpath(home)
        self._own = os.path.realpath(own)
        self._leaves: dict[str, Leave] = {}
        self._private: str | None = None
        self._granted: set[str] = set()
        """Places that the person let a tool through to."""
        self._of_files: tuple[float, tuple[str, Settings], Box] | None = None
        workspace.confine = self.of_call
        workspace.box_of_files = self.of_files

    @property
    def abilities(self) -> Abilities:
        return self._workspace.abilities()

    @property
    def are_possible(self) -> bool:
        """Commands can run in one here, and are meant to."""
        return self._workspace.has_local_processes and box_works(
            self._options.in_force.settings, self.abilities
        )

    @property
    def are_in_force(self) -> bool:
        return self.are_possible and (self._setting == "required" or self._mode() != "full")

    @property
    def missing(self) -> str:
        """What a person should know at a glance; nothing in the mode `full`, which says it already."""
        if self._mode() == "full":
            return ""
        if not self.are_in_force:
            return "no sandbox"
        return "" if self.abilities.step.startswith("namespaces") else "Landlock only"

    def state(self) -> BoxState:
        """As `work` would be now."""
        is_in_force = self.are_in_force
        box = self._made("work", Leave()) if is_in_force else None
        why = self.abilities.why
        if not self._workspace.has_local_processes:
            why = "commands run elsewhere"
        return BoxState(
            setting=self._setting,
            step=self.abilities.step if self._workspace.has_local_processes else "none",
            why=why,
            is_in_force=is_in_force,
            network=self._options.in_force.settings.sandbox.network,
            writable=box.writable if box else (),
            guarded=box.guarded if box else (),
            hidden=box.hidden if box else (),
        )

    def decided(self, call_id: str, decision: CallDecision) -> None:
        """The gate has let this call run."""
        for part in decision.verdict.parts:
            if part.letter == "F" and part.words and len(part.words) == 2 and part.words[0] in _ON_FILES:
                self._granted.add(os.path.realpath(part.words[1]))
        self.remember(call_id, self._leave(decision))

    def remember(self, call_id: str, leave: Leave) -> None:
        while len(self._leaves) >= _REMEMBERED:
            self._leaves.pop(next(iter(self._leaves)))
        self._leaves[call_id] = leave

    def _leave(self, decision: CallDecision) -> Leave:
        letter = decision.verdict.letter
        if any(answer.decided_by == LEAVING for answer in decision.answers):
            return Leave(kind="outside")
        if letter == "F" or (self._mode() == "full" and self._setting != "required"):
            return Leave(kind="outside")
        known = [part.words for part in decision.verdict.parts]
        return Leave(
            kind="read" if letter == "R" else "work",
            uses_network=letter == "N",
            programs=frozenset(words[0].rpartition("/")[2] for words in known if words)
            if all(known)
            else frozenset(),
        )

    async def of_call(self, call_id: str, *, lasts: bool = False) -> Box | None:
        """For a process that this call starts; None: it runs as the person's own would. `lasts`: for later calls too.

        Raises `ToolError` where nothing may run outside and no box can be made.
        """
        self._refuse_below()
        leave = self._leaves.get(call_id)
        if not (self.are_possible if leave else self.are_in_force):
            return None
        leave = leave or Leave()
        if leave.kind == "outside":
            return None
        kind: BoxKind = "work" if lasts else leave.kind
        return await asyncio.to_thread(self._made, kind, leave)

    def of_files(self) -> Box | None:
        """For what the tools do to files by themselves."""
        if not self.are_in_force:
            return None
        key = (str(self._workspace.cwd), self._options.in_force.settings)
        now = time.monotonic()
        if self._of_files is None or self._of_files[1] != key or now - self._of_files[0] > _BELIEVED_SECONDS:
            self._of_files = (now, key, self._made("work", Leave()))
        return msgspec.structs.replace(self._of_files[2], granted=tuple(self._granted))

    async def of_program(
        self, *, network: BoxNetwork | None = None, write: tuple[str, ...] = ()
    ) -> Box | None:
        """For a program that serves the session: in the workspace, with these places to write and this network."""
        self._refuse_below()
        if not self.are_in_force:
            return None
        box = await asyncio.to_thread(self._made, "work", Leave())
        writable = outermost((*box.writable, *real(write)))
        return msgspec.structs.replace(box, writable=writable, network=network or box.network)

    def close(self) -> None:
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
            self._private = None

    @property
    def _setting(self) -> Literal["auto", "off", "required"]:
        return self._options.in_force.settings.sandbox.mode

    def _refuse_below(self) -> None:
        step = self.abilities.step
        if self._setting != "required":
            return
        if not self._workspace.has_local_processes:
            raise ToolError(
                "Nothing was run: commands run elsewhere in this session, where no sandbox can be made, and the "
                "setting sandbox.mode is `required`. The user can change it in /settings."
            )
        if not step.startswith("namespaces"):
            raise ToolError(
                f"Nothing was run: the setting sandbox.mode is `required`, and this system has "
                f"{'no sandbox' if step == 'none' else 'only a part of it (' + step + ')'}: {self.abilities.why}. "
                "The user can change the setting in /settings; `bayou sandbox` tells what works."
            )

    # What is in it

    def _made(self, kind: BoxKind, leave: Leave) -> Box:
        workspace = os.path.realpath(self._workspace.cwd)
        folders, files = self._hidden(workspace, leave)
        if kind == "read":
            private = self._private_folder()
            secrets = self._whereabouts.secrets_below(workspace).paths
            return Box(
                kind="read",
                writable=(private,),
                hidden_folders=folders,
                hidden_files=(*files, *secrets),
                network="off",
                environment=(("TMPDIR", private),),
            )
        git = git_places(workspace)
        self._make_cache()
        kept = caches(self._home, os.environ)
        present, missing = guarded_in(workspace)
        own = self._places(self._options.in_force.settings.sandbox.write)
        writable = outermost((workspace, *temporary_folders(), *kept.writable, *git.writable, *real(own)))
        guarded = real(
            path
            for path in (*git.guarded, *present, *kept.guarded, *self._start_up(), self._own)
            if covering(os.path.realpath(path), writable)
        )
        return Box(
            kind="work",
            writable=writable,
            guarded=guarded,
            pinned=tuple(path for path in git.pinned if path not in guarded),
            hidden_folders=folders,
            hidden_files=files,
            watched=(*git.missing, *missing, *(() if self._has_mounts else (*git.guarded, *present))),
            network=self._network(leave),
            environment=kept.variables,
        )

    def _make_cache(self) -> None:
        """Where all caches are that have no other place: a tool in the box could not make it by itself."""
        try:
            Path(self._home, ".cache").mkdir(mode=0o700, exist_ok=True)
        except OSError:
            pass  # A home that is not there, or that nobody may write.

    @property
    def _has_mounts(self) -> bool:
        return self.abilities.step.startswith("namespaces")

    def _network(self, leave: Leave) -> BoxNetwork:
        return "own" if self._options.in_force.settings.sandbox.network == "off" else "open"

    def _start_up(self) -> tuple[str, ...]:
        return tuple(f"{self._home}/{name}" for name in (*sorted(START_UP), *START_UP_FOLDERS))

    def _hidden(self, workspace: str, leave: Leave) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Folders, and files with sockets."""
        settings = self._options.in_force.settings.sandbox
        more = self._places(settings.hide)
        shown = shown_to(leave.programs) if leave.uses_network else frozenset[str]()
        named = [name for name in (*FOLDERS, *HOME_FILES, *OTHERS_FILES, *sorted(NAMES)) if name not in shown]
        wanted = real((*(f"{self._home}/{name}" for name in named), f"{self._own}/auth.json", *more))
        folders, files = sockets(self._home, os.environ, workspace)
        agent = os.path.realpath(os.environ.get("SSH_AUTH_SOCK") or "/")
        if ".ssh" in shown:
            files = tuple(path for path in files if path != agent)
        if leave.programs and leave.programs <= daemons():
            files = tuple(path for path in files if "docker" not in path and "podman" not in path)
            folders = tuple(path for path in folders if "docker" not in path and "podman" not in path)
        folders += tuple(path for path in wanted if is_dir(Path(path)))
        files += tuple(path for path in wanted if not is_dir(Path(path)) and not self._is_harmless(path))
        outer = outermost(folders)
        kept = tuple(path for path in outer if not _holds(path, workspace))
        return kept, tuple(path for path in dict.fromkeys(files) if covering(path, kept) is None)

    def _is_harmless(self, path: str) -> bool:
        """Settings of npm say where packages come from; a key is in them or not."""
        if not path.endswith("/.npmrc"):
            return False
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace").casefold()
        except OSError:
            return False
        return "_auth" not in text and "_password" not in text

    def _places(self, said: Iterable[str]) -> tuple[str, ...]:
        """As a person writes them: from the home, or absolute."""
        return tuple(self._home + path[1:] if path.startswith("~") else path for path in said)

    def _private_folder(self) -> str:
        """For temporary files of what reads."""
        if self._private is None or not is_dir(Path(self._private)):
            self._private = os.path.realpath(tempfile.mkdtemp(prefix="bayou-read-"))
        return self._private


def _holds(folder: str, path: str) -> bool:
    """Hiding it would hide the place that is worked in."""
    return covering(path, (folder,)) is not None
