"""Builds sandboxes: which paths of this machine a tool call may read and write, given how it was allowed."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts, temporary_folders
from app.engine.sandbox.project_caches import SandboxProjectCaches
from app.permits.sandbox_exceptions import (
    CONTAINER_DAEMON_PROGRAMS,
    CheckedSandboxRequest,
    credential_files_of,
)
from app.permits.secret_files import autorun_reason
from app.resources.settings.settings_trust import SandboxSettings
from tools.box.git_sandbox_paths import folders_between_roots_and_paths, merge_git_sandbox_paths
from tools.box.guarded_paths_and_sockets import (
    SERVICE_SOCKETS_ALLOWED_IN_SANDBOX,
    existing_real_paths,
    find_guarded_paths_in,
    find_sockets_to_hide,
    list_folder,
)
from tools.box.hard_link_search import HardLinkFinder, MovedFileTracker, other_hard_links_of
from tools.box.host_groups import host_group_of_package_manager
from tools.box.reserved_git_names import ReservedGitFileNames
from tools.box.sandbox_permission_requests import SandboxPermissionRequest
from tools.box.sandbox_policy import (
    SandboxNetworkAccess,
    SandboxPolicy,
    SandboxWriteMode,
    innermost_containing,
    outermost_paths,
)
from tools.box.sandbox_refusals import narrowest_place_to_allow, path_with_tilde
from tools.files.path_existence import is_dir
from tools.files.paths import absolute_path, real_path
from tools.files.private_folders import (
    existing_temporary_folders_of_bayou,
    fallback_temporary_folder,
    temporary_folder_of_sessions,
)
from tools.git.git_repository import find_repository
from tools.protected.autorun_files import HOME_AUTORUN_FILES
from tools.protected.credential_tables import (
    BAYOU_FILES_VISIBLE_IN_SANDBOX,
    CREDENTIAL_FILE_NAMES,
    CREDENTIAL_PLACES,
)
from tools.session_workspace import SessionWorkspace

PlaceAccess = Literal["write", "read"]


class SandboxGrant(msgspec.Struct, frozen=True, kw_only=True):
    """The permissions that a tool call was given for its sandbox, or to run outside of it."""

    kind: SandboxWriteMode | Literal["outside"] = "work"
    command: str = ""
    """The command line of the call, for questions about hosts."""
    uses_network: bool = False
    """Whether the call is an allowed network command, which sees its program's credentials."""
    hosts: frozenset[str] = frozenset()
    """The hosts that the call may reach, each as `host:port`."""
    writable: frozenset[str] = frozenset()
    """Additional places that the call may write."""
    shown_paths: frozenset[str] = frozenset()
    bypasses_sandbox_proxy: bool = False
    """Whether the program connects without a proxy, as `ssh` does, and so gets this machine's network."""
    is_repack_only: bool = False
    """Whether the call only runs git to repack objects and remove old packs."""
    programs: frozenset[str] = frozenset()
    """The programs that the call runs, if all words of its command are known."""
    server: str = ""
    """The name of the MCP server that runs in the sandbox, which has separate caches; empty for others."""


class SandboxBuilder:
    """Builds the sandboxes of one session."""

    def __init__(
        self,
        options: SessionOptions,
        workspace: SessionWorkspace,
        command_context: CommandPlaceFacts,
        *,
        home: Path,
        own: Path,
        sessions: Path | None = None,
        allowed_places: Callable[[PlaceAccess], tuple[str, ...]] = lambda verb: (),
    ) -> None:
        """Prepares the builder. `own` is bayou's folder of settings and credentials. `sessions` is the folder of
        all sessions, if it is elsewhere. `allowed_places` returns the places outside the workspace that rules let
        commands write, or the secrets that they may read."""
        self._allowed_places = allowed_places
        self._options = options
        self._workspace = workspace
        self._command_context = command_context
        self._home = real_path(home)
        self._autorun_files = tuple(f"{self._home}/{row.name}" for row in HOME_AUTORUN_FILES)
        self._own_folder = real_path(own)
        self._sessions = real_path(sessions or own)
        self._temporary: dict[SandboxWriteMode | Literal["server"], str] = {}
        """The folders for temporary files, by kind of sandbox; the sandbox of servers has only caches there."""
        self._caches = SandboxProjectCaches(self._home, os.environ)
        self._reserved_names = ReservedGitFileNames()
        self._link_finder = HardLinkFinder()
        self._moved_files = MovedFileTracker()
        self._secrets: dict[str, tuple[str, ...]] = {}
        """The secret files that are hidden from commands, by the folder in which work began."""
        self._resolved_roots: dict[str, str] = {}
        """The session's folders with their links resolved at the start, so that a link that a command makes later
        leads nowhere else."""

    def close(self) -> None:
        for folder in self._temporary.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary.clear()
        self._reserved_names.close()
        self._moved_files.close()

    def build_box(self, kind: SandboxWriteMode, leave: SandboxGrant) -> SandboxPolicy:
        roots = self._workspace_folders()
        private = self._temporary_folder(kind)
        self._make_bayou_folders()
        folders, files, shown = self._hidden_places(roots, leave)
        sockets = (private, *SERVICE_SOCKETS_ALLOWED_IN_SANDBOX, *shown)
        linked = self._link_finder.find_in(roots)
        if kind == "read":
            below = [path for root in roots for path in self._command_context.secret_files_below(root).paths]
            secrets = [*_paths_outside((*below, *self._moved_secrets(roots)), folders)]
            secrets += other_hard_links_of(linked.files, (*folders, *files, *secrets))
            return self._reading_box(roots, private, folders, (*files, *secrets), sockets)
        nested = self._workspace.nested
        git = merge_git_sandbox_paths(roots, Path(self._home), nested, nested.find_in(roots).git_folders)
        present, missing = find_guarded_paths_in(roots)
        allowed = (*self._sandbox_settings.write, *self._allowed_places("write"))
        own = existing_real_paths(self._setting_paths(allowed))
        granted = existing_real_paths(self._setting_paths(leave.writable))
        stores = self._caches.existing_package_stores(leave.programs) if _is_install_only(leave) else ()
        more = (private, *temporary_folders(), *git.writable, *own, *granted, *stores)
        caches = self._cache_folder(roots[0], private, (*roots, *more), leave.server)
        writable = outermost_paths((*roots, *more, caches))
        is_shared = any(_hides_any(root, (self._home, *temporary_folders())) for root in roots)
        packs = git.packs if self.has_mounts and not leave.is_repack_only else ()
        usable = (*own, *granted, *(root for root in roots if not _contains_workspace(root, self._home)))
        user_caches = self._user_caches(roots, (*usable, *stores))
        run_later = (*git.guarded, *packs, *present, *self._autorun_files)
        protected = existing_real_paths((*run_later, self._own_folder))
        protected += other_hard_links_of(linked.files, protected)
        secrets = self._secrets_to_hide(roots, folders, leave)
        files += (*secrets, *other_hard_links_of(linked.files, (*folders, *files, *secrets)))
        guarded = user_caches + tuple(
            path
            for path in protected
            if innermost_containing(path, writable) and path not in granted and not _hides_any(path, roots)
        )
        links = self._protected_links((*git.links, *present, *self._caches.user_cache_paths), writable)
        between = folders_between_roots_and_paths((*guarded, *links, *git.pinned, *secrets), writable)
        held = (*git.pinned, *between)
        elsewhere = () if _is_install_only(leave) else linked.linked_elsewhere
        shared = _paths_outside(elsewhere, (*guarded, *folders, *files, *own, *granted))
        has_mounts = self.has_mounts
        places = (*self._autorun_files, *_paths_outside(self._caches.user_cache_paths, (*usable, *stores)))
        start_up = [path for path in places if not has_mounts or not os.path.lexists(path)]
        return SandboxPolicy(
            kind="work",
            writable=writable,
            guarded=guarded,
            linked=shared,
            shared=() if self.has_mounts else shared,
            pinned=tuple(
                path
                for path in dict.fromkeys((*roots, private, *held))
                if innermost_containing(path, writable) and path not in guarded
            ),
            unwatched=user_caches if self.has_mounts else (),
            links=links,
            reserved=_paths_inside(git.reserved, writable),
            searched=roots,
            repositories=_paths_inside(git.repositories, writable),
            vcs_folders=_paths_inside((*git.repositories, *linked.vcs_folders), writable),
            allowed=self._allowed_paths_below(roots, leave),
            hidden_folders=folders,
            hidden_files=tuple(dict.fromkeys(files)),
            shown=self._readable_places(folders, roots, private, caches),
            private=self._private_places,
            sockets=sockets if is_shared else (*roots, *sockets),
            watched=(
                *git.missing,
                *missing,
                *(path for path in start_up if innermost_containing(path, writable)),
                *(() if self.has_mounts else (*git.guarded, *present)),
            ),
            network=self._box_network(leave),
            environment=self._environment(caches, usable, private),
        )

    def _environment(self, caches: str, usable: tuple[str, ...], private: str) -> tuple[tuple[str, str], ...]:
        """Returns the variables of a command: its caches, git's settings and its folder for temporary files."""
        return (*self._caches.cache_variables(caches, usable), *_git_environment(), ("TMPDIR", private))

    def _workspace_folders(self) -> tuple[str, ...]:
        """Returns the session's folder and the added folders."""
        cwd = str(self._workspace.cwd)
        return (self._resolved_roots.setdefault(cwd, real_path(cwd)), *self._workspace.added.real)

    def _reading_box(
        self,
        roots: tuple[str, ...],
        private: str,
        folders: tuple[str, ...],
        files: tuple[str, ...],
        sockets: tuple[str, ...],
    ) -> SandboxPolicy:
        """Builds the sandbox for a call that only reads."""
        return SandboxPolicy(
            kind="read",
            writable=(private,),
            hidden_folders=folders,
            hidden_files=files,
            shown=self._readable_places(folders, roots, private),
            private=self._private_places,
            sockets=sockets,
            network="off",
            environment=(("TMPDIR", private),),
        )

    @property
    def places_allowed_by_rules(self) -> tuple[str, ...]:
        return (*self._allowed_places("write"), *self._allowed_places("read"))

    def _secrets_to_hide(
        self, roots: tuple[str, ...], hidden: tuple[str, ...], leave: SandboxGrant
    ) -> tuple[str, ...]:
        """Returns the secret files to hide from commands: those that existed when work in the folder began and
        that git does not track. Files that commands create, such as test certificates, stay readable."""
        let_see = existing_real_paths(
            self._setting_paths((*leave.shown_paths, *self._allowed_places("read")))
        )
        return tuple(
            path
            for path in (*self._initial_secrets(roots), *self._moved_secrets(roots))
            if path not in let_see and innermost_containing(path, hidden) is None and os.path.lexists(path)
        )

    def _initial_secrets(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        for root in roots:
            if root in self._secrets:
                continue
            below = self._command_context.secret_files_below(root).paths
            repository = find_repository(Path(root))
            tracked = repository.filter_tracked_paths(below) if repository is not None else frozenset[str]()
            self._secrets[root] = tuple(path for path in below if path not in tracked)
            if not self.has_mounts:
                self._moved_files.track_files(self._secrets[root])
        return tuple(path for root in roots for path in self._secrets[root])

    def _moved_secrets(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the new names of secret files that a command moved, where the sandbox has no mounts to prevent
        that."""
        self._initial_secrets(roots)
        return tuple(path for root in roots for path in self._moved_files.names_after_move(root))

    def _allowed_paths_below(self, roots: tuple[str, ...], leave: SandboxGrant) -> tuple[str, ...]:
        """Returns the paths below the workspace folders that rules allow, whether they exist or not."""
        places = self._setting_paths(
            (*self._sandbox_settings.write, *self._allowed_places("write"), *leave.writable)
        )
        found = (real_path(absolute_path(place, self._workspace.cwd)) for place in places)
        return tuple(
            path for path in found if path not in roots and innermost_containing(path, roots) is not None
        )

    def reserve_and_build_box(self, kind: SandboxWriteMode, leave: SandboxGrant) -> SandboxPolicy:
        """Builds the sandbox for a process that is about to start, reserving the names that no command may
        create."""
        box = self.build_box(kind, leave)
        if self.has_mounts:
            self._reserved_names.create_placeholder_files(box.reserved)
        there = tuple(path for path in box.reserved if self.has_mounts and os.path.lexists(path))
        rest = tuple(path for path in box.reserved if path not in there)
        return msgspec.structs.replace(
            box, guarded=(*box.guarded, *there), reserved=(), watched=(*box.watched, *rest)
        )

    def check_sandbox_request(self, request: SandboxPermissionRequest) -> CheckedSandboxRequest | None:
        """Returns the grant that a tool call's sandbox request asks for; None if every command has it already. A
        place in a folder that is hidden or protected as a whole stands for that folder."""
        box = self.build_box("work", SandboxGrant())
        (place,) = self._setting_paths((request.place,))
        path = real_path(absolute_path(place, self._workspace.cwd))

        def found(place: str, *, danger: str = "", problem: str = "") -> CheckedSandboxRequest:
            return CheckedSandboxRequest(
                SandboxPermissionRequest(request.verb, path_with_tilde(place, self._home)), danger, problem
            )

        hidden = innermost_containing(path, box.hidden)
        if request.verb == "read" and path in self._initial_secrets(box.searched):
            return found(path) if hidden is not None else None
        if (
            request.verb == "read"
            and hidden is not None
            and self._command_context.private_files.is_private_file(hidden)
        ):
            return found(hidden)
        if request.verb != "write":
            return found(hidden, danger="it is hidden from commands") if hidden is not None else None
        if box.may_write(path):
            linked = innermost_containing(path, box.linked)
            if linked is not None:
                return found(linked)
            if innermost_containing(path, box.allowed) is not None:
                return None
            # The place can be created, and is removed again: see `tools.box.unprotected_changes`.
            later = autorun_reason(path, self._home, (self._own_folder,))
            return found(path, danger=later) if later is not None else None
        if hidden is not None:
            return found(path, problem="it is hidden from commands")
        guard = innermost_containing(path, box.guarded)
        if guard is not None:
            return found(
                guard, danger=autorun_reason(path, self._home, (self._own_folder,)) or "it is protected"
            )
        place = narrowest_place_to_allow(path, self._home, os.path.exists)
        if place is None:
            return found(path, problem="it does not exist, and only your whole home folder could be allowed")
        why = autorun_reason(place, self._home, (self._own_folder,)) or self._caches.cache_write_danger_of(
            place
        )
        if why is None and innermost_containing(place, (self._home,)) is None:
            why = "it is outside your home"
        return found(place, danger=why or "")

    def _make_bayou_folders(self) -> None:
        """Creates bayou's folders, since only existing folders can be hidden."""
        with suppress(OSError):  # The home folder is missing or read-only.
            Path(self._own_folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError):  # There is no room for temporary files.
            fallback_temporary_folder()

    def _user_caches(self, roots: tuple[str, ...], excluded: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the user's caches that are inside the session's folders, as when the home is the workspace."""
        return tuple(
            path
            for path in _paths_outside(self._caches.existing_user_caches(), excluded)
            if innermost_containing(path, (*roots, *temporary_folders())) and not _hides_any(path, roots)
        )

    @property
    def _private_places(self) -> tuple[str, ...]:
        found = self._command_context.private_files.find_private_places()
        return (*found.files, *found.folders)

    @property
    def has_mounts(self) -> bool:
        return self._workspace.abilities().step.startswith("namespaces")

    def _box_network(self, leave: SandboxGrant) -> SandboxNetworkAccess:
        setting = self._sandbox_settings.network
        has_proxy = self.has_mounts and not leave.bypasses_sandbox_proxy
        is_let_through = setting == "listed" and leave.uses_network and not has_proxy
        return "open" if setting == "open" or is_let_through else "own"

    @property
    def _sandbox_settings(self) -> SandboxSettings:
        return self._options.effective_settings.settings.sandbox

    def _protected_links(self, paths: Sequence[str], writable: Sequence[str]) -> tuple[str, ...]:
        """Returns the protected paths that are links: a command could replace the link instead of its target."""
        return tuple(
            path
            for path in (*paths, *self._autorun_files)
            if os.path.islink(path) and innermost_containing(path, writable)  # noqa: PTH114  (a text)
        )

    def _hidden_places(
        self, roots: tuple[str, ...], leave: SandboxGrant
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Returns the folders, files and sockets that the sandbox hides, and the sockets that this call may reach."""
        more = self._setting_paths(self._sandbox_settings.hide)
        shown = credential_files_of(leave.programs) if leave.uses_network else frozenset[str]()
        named = [
            one.name
            for one in (*CREDENTIAL_PLACES, *CREDENTIAL_FILE_NAMES)
            if "*" not in one.name and one.name not in shown
        ]
        workspace = roots[0]
        places = (*(f"{self._home}/{name}" for name in named), *self._bayou_folders(workspace))
        wanted = existing_real_paths(
            (*places, *more, *(existing_temporary_folders_of_bayou() if self.has_mounts else ()))
        )
        folders, files = find_sockets_to_hide(self._home, os.environ, workspace)
        found = (*folders, *files)
        agent = real_path(os.environ.get("SSH_AUTH_SOCK") or "/")
        if ".ssh" in shown:
            files = tuple(path for path in files if path != agent)
        if leave.programs and leave.programs <= CONTAINER_DAEMON_PROGRAMS:
            files = tuple(path for path in files if "docker" not in path and "podman" not in path)
            folders = tuple(path for path in folders if "docker" not in path and "podman" not in path)
        reached = tuple(path for path in found if path not in (*folders, *files))
        folders += tuple(path for path in wanted if is_dir(Path(path)))
        files += tuple(path for path in wanted if not is_dir(Path(path)) and not self._has_no_key(path))
        private = self._command_context.private_files.find_private_places()
        projects = (root for root in roots if not _contains_workspace(root, self._home))
        not_private = (*projects, *existing_real_paths(self._setting_paths(self._allowed_places("read"))))
        folders += _paths_outside(private.folders, not_private)
        files += _paths_outside(private.files, not_private)
        let_see = {real_path(path) for path in self._setting_paths(leave.shown_paths)}
        folders, files = (tuple(path for path in paths if path not in let_see) for paths in (folders, files))
        outer = outermost_paths(folders)
        kept = tuple(path for path in outer if path == self._own_folder or not _hides_any(path, roots))
        return (
            kept,
            tuple(path for path in dict.fromkeys(files) if innermost_containing(path, kept) is None),
            reached,
        )

    def _bayou_folders(self, workspace: str) -> tuple[str, ...]:
        """Returns bayou's own folder; if that is the workspace, the files beside it."""
        if not _contains_workspace(self._own_folder, workspace) or self._is_shown_bayou_file(workspace):
            return (self._own_folder, self._sessions)
        kept = (
            f"{self._own_folder}/{name}"
            for name in list_folder(self._own_folder)
            if name not in BAYOU_FILES_VISIBLE_IN_SANDBOX
        )
        return tuple(path for path in kept if not _contains_workspace(path, workspace))

    def _is_shown_bayou_file(self, path: str) -> bool:
        return path[len(self._own_folder) + 1 :].split("/", 1)[0] in BAYOU_FILES_VISIBLE_IN_SANDBOX

    def _readable_places(
        self, hidden: tuple[str, ...], roots: tuple[str, ...], *more: str
    ) -> tuple[str, ...]:
        """Returns the parts of bayou's own folders that commands may read: files for reading, this session's
        outputs, the shell snapshot, and `more`."""
        found = [f"{self._own_folder}/{name}" for name in BAYOU_FILES_VISIBLE_IN_SANDBOX]
        found += [
            real_path(folder) for folder in self._workspace.artifacts.folders if not folder.is_symlink()
        ]
        own_shell = self._workspace.shell_settings().user_shell
        if own_shell is not None and own_shell.last_snapshot is not None and own_shell.last_snapshot.file:
            found.append(real_path(own_shell.last_snapshot.file))
        workspace = roots[0]
        if self._own_folder in hidden and _contains_workspace(self._own_folder, workspace):
            found = [path for path in found if not _contains_workspace(path, workspace)] + [workspace]
        return tuple(
            path for path in (*found, *more) if os.path.lexists(path) and innermost_containing(path, hidden)
        )

    def _has_no_key(self, path: str) -> bool:
        """Whether a file of npm settings contains no key; such files say where packages come from."""
        if not path.endswith("/.npmrc"):
            return False
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace").casefold()
        except OSError:
            return False
        return "_auth" not in text and "_password" not in text

    def _setting_paths(self, said: Iterable[str]) -> tuple[str, ...]:
        """Returns the paths that a sandbox setting names, absolute or relative to the home folder."""
        return tuple(self._home + path[1:] if path.startswith("~") else path for path in said)

    def _cache_folder(self, project: str, private: str, writable: tuple[str, ...], server: str) -> str:
        if not server:
            return self._caches.project_folder(project, private, writable)
        return self._caches.project_folder(project, self._temporary_folder("server"), writable, server)

    def _temporary_folder(self, kind: SandboxWriteMode | Literal["server"]) -> str:
        """Returns the session's temporary folder, in which only its own commands listen on sockets."""
        folder = self._temporary.get(kind)
        if folder is None or not is_dir(Path(folder)):
            folder = self._temporary[kind] = real_path(
                tempfile.mkdtemp(
                    prefix=f"{os.getpid()}-", dir=temporary_folder_of_sessions(Path(self._own_folder))
                )
            )
        return folder


def _git_environment() -> tuple[tuple[str, str], ...]:
    """Returns variables that make git pack objects before its command ends, since no process outlives a command."""
    if "GIT_CONFIG_COUNT" in os.environ:
        return ()
    said = {"COUNT": "1", "KEY_0": "gc.autoDetach", "VALUE_0": "false"}
    return tuple((f"GIT_CONFIG_{name}", value) for name, value in said.items())


def _paths_inside(paths: Iterable[str], places: Iterable[str]) -> tuple[str, ...]:
    places = tuple(places)
    return tuple(path for path in dict.fromkeys(paths) if innermost_containing(path, places))


def _paths_outside(paths: Iterable[str], places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if innermost_containing(path, places) is None)


def _is_install_only(leave: SandboxGrant) -> bool:
    """Whether the tool call only runs package managers, which replace linked files by new ones."""
    installs = [program for program in leave.programs if host_group_of_package_manager(program) is not None]
    return leave.uses_network and bool(installs) and leave.programs <= {*installs, "cd"}


def _contains_workspace(folder: str, path: str) -> bool:
    """Whether hiding the folder would hide the workspace too."""
    return innermost_containing(path, (folder,)) is not None


def _hides_any(folder: str, roots: tuple[str, ...]) -> bool:
    return any(_contains_workspace(folder, root) for root in roots)
