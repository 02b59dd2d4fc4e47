"""Defines the state that the tools of one session share: working directory, files seen by the model, file changes,
running commands."""

import asyncio
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tools.box.nested_repositories import NestedRepositoryFinder
from tools.box.sandbox_features import SandboxFeatures, system_sandbox_features
from tools.box.sandbox_policy import SandboxPolicy
from tools.box.unprotected_changes import UnpreventedChangeDetector
from tools.edits.dialects.edit_modes import EditMode
from tools.edits.staged_actions import StagedActions
from tools.edits.syntax_checks import SyntaxCheckCache
from tools.file_and_process_operations import (
    FileOperations,
    LocalFileOperations,
    ProcessOperations,
    RunningProcess,
)
from tools.files.file_changes import FileChangeQueue
from tools.files.files_shown_to_model import FilesShownToModel
from tools.files.line_index import LineIndexCache
from tools.files.output_artifacts import OutputArtifacts
from tools.files.paths import AddedWorkingFolders
from tools.files.private_folders import create_private_folder
from tools.files.sandboxed_files import PathsJudgedByGate, SandboxedFiles
from tools.masking.secret_mask import GetCurrentMask
from tools.running.command_file_watching import WatchFilesOfCommand
from tools.running.local_processes import LocalProcesses, SandboxNetworkNamespace, SandboxStartFailed
from tools.running.persistent_shell import PersistentShell
from tools.running.pty.pty_host import PtyHost
from tools.running.shell_settings import BeforeSpawnHook, ShellSettings
from tools.tool_definition import FileChange, ToolContext, ToolError

if TYPE_CHECKING:
    from tools.kernel.kernel_settings import KernelSettings
    from tools.kernel.session_kernel import SessionKernel
    from tools.repomap.mapped_repository import MappedRepository


class GetSandboxPolicyForCall(Protocol):
    """The type of the function that returns the sandbox policy for a process of a tool call."""

    async def __call__(self, call_id: str, *, lasts: bool = False) -> SandboxPolicy | None:
        """Returns the sandbox policy for a process that is about to start; takes the call that it belongs to, and
        whether the process outlasts the call. None: no sandbox. Raises `ToolError` if the process must not run."""
        ...


class ReadToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    resizes_images: bool = True


class SessionWorkspace:
    """The state that the tools of one session share, from its start to `close`."""

    def __init__(
        self,
        cwd: Path,
        *,
        artifacts: OutputArtifacts | None = None,
        files: FileOperations | None = None,
        processes: ProcessOperations | None = None,
        shell: Callable[[], ShellSettings] = ShellSettings,
        read: Callable[[], ReadToolSettings] = ReadToolSettings,
        edit_mode: Callable[[], EditMode] = lambda: "replace",
        pty_host: PtyHost | None = None,
        active_tools: Callable[[], Collection[str]] = lambda: (),
        cache_dir: Path | None = None,
        spawn_hook: BeforeSpawnHook | None = None,
        repositories: "Callable[[Path], MappedRepository | None] | None" = None,
        abilities: Callable[[], SandboxFeatures] = system_sandbox_features,
        kernel_settings: "Callable[[], KernelSettings] | None" = None,
        added: AddedWorkingFolders | None = None,
    ) -> None:
        self.cwd = cwd
        self.added = added or AddedWorkingFolders()
        """The folders besides `cwd` whose files may be changed."""
        self.cache_dir = cache_dir
        """The folder for data that can be created anew at any time; None: nothing is stored on disk."""
        self.box_of_files: Callable[[], SandboxPolicy | None] = lambda: None
        """Returns the sandbox policy of the tools' own file operations; None: no limits beyond the user's."""
        self.box_of_start_up: Callable[[str], SandboxPolicy | None] = lambda folder: None
        """Returns the sandbox policy for running shell start-up files that may write to `folder`, or raises."""
        self.judged_paths = PathsJudgedByGate()
        self._own_files = SandboxedFiles(lambda: self.box_of_files(), self.judged_paths, self._folders)
        self.files: FileOperations = files or self._own_files
        self._own_processes = None if processes else LocalProcesses(abilities)
        self.abilities = abilities
        """The sandbox features of this system."""
        self.processes: ProcessOperations = processes or self._own_processes or LocalProcesses(abilities)
        self.shell_settings = shell
        """Returns the shell settings, called for every command because they may have changed."""
        self.read_settings = read
        self.edit_mode = edit_mode
        """Returns how the model is asked to write edits, which decides whether lines are shown with anchors."""
        self.pty_host = pty_host
        """The host that shows terminals, set by an interface that can."""
        self.terminal_turn = asyncio.Lock()
        """A lock for the visible terminal, because the user can type into only one terminal at a time."""
        self.active_tools = active_tools
        """Returns the names of the model's tools, for hints to better ones."""
        self.spawn_hook = spawn_hook
        """A hook that is called before every command starts and may change the command."""
        self.watch_command: WatchFilesOfCommand | None = None
        """A function that is called before every command of the model starts, and watches its file changes."""
        self.box_for_call: GetSandboxPolicyForCall | None = None
        """Returns the sandbox policy for a process of a call; `current_box_of` returns the one it would get now."""
        self.current_box_of: Callable[[str], SandboxPolicy | None] = lambda call_id: None
        self.end_proxy_caller: Callable[[str], tuple[str, ...]] = lambda caller: ()
        """Forgets a command that has ended, by its name at the proxy; returns each `host:port` it was refused."""
        self.mask_output: GetCurrentMask = lambda: None
        """Returns the current mask of secrets, for the output of commands while it arrives; None: no masking."""
        self.hidden_path_test: Callable[[], Callable[[str], bool]] = lambda: lambda path: False
        """Returns, once for each search, a test by real path: whether a file's lines must not be shown."""
        self.mask_text: Callable[[str], str] = str
        """Masks the secrets in a text before the text is truncated."""
        self._repositories = repositories
        self._mapped_repositories: dict[Path, MappedRepository] = {}
        self.on_map_progress: Callable[[], None] = lambda: None
        """Called, from any thread, while the repository map is being built."""
        self.on_operations_switched: Callable[[], None] = lambda: None
        """A function that is called when the tools switch to other file and process operations."""
        self.artifacts, self.nested = artifacts or OutputArtifacts(), NestedRepositoryFinder()
        self.guard = UnpreventedChangeDetector(self.nested, self.private_folder, self._set_aside_folder)
        self.read_cache, self.line_indexes = FilesShownToModel(), LineIndexCache()
        self.syntax, self.mutations = SyntaxCheckCache(), FileChangeQueue(self.files)
        self.mutations.subscribe(self._on_file_change)
        self.staged_actions = StagedActions(lambda: self.mutations)
        self.running_processes: set[RunningProcess] = set()
        """Running commands of the session, and processes that earlier commands left behind."""
        self.shell_session: PersistentShell | None = None
        self._kernel_settings = kernel_settings
        self._kernel: SessionKernel | None = None
        self.ripgrep: str | None = None
        """The path of the `rg` program, after it was first searched for."""

    def _set_aside_folder(self) -> Path:
        return self.artifacts.set_aside_folder

    def _folders(self) -> tuple[str, ...]:
        return str(self.cwd), *self.added.real

    def private_folder(self, kind: str) -> Path:
        """Creates a temporary folder that commands cannot see; its user removes it."""
        return create_private_folder(self.cache_dir and self.cache_dir / "working", kind)

    @property
    def has_local_processes(self) -> bool:
        return self._own_processes is not None and self.processes is self._own_processes

    @property
    def local_processes(self) -> LocalProcesses | None:
        """Returns this machine's process operations, or None if commands run elsewhere."""
        return self._own_processes if self.has_local_processes else None

    async def session_sandbox_network(self) -> SandboxNetworkNamespace:
        """Returns the network of sandboxed commands that must not see this machine's network."""
        assert self._own_processes is not None
        try:
            return await self._own_processes.network()
        except SandboxStartFailed as problem:
            raise ToolError(f"The sandbox's network could not be created: {problem.strerror}.") from None

    @property
    def has_local_files(self) -> bool:
        """Whether the tools change files of this machine."""
        return isinstance(self.files, LocalFileOperations)

    def switch_file_and_process_operations(
        self, files: FileOperations | None, processes: ProcessOperations | None
    ) -> None:
        """Switches the session to other file and process operations, such as those of a container; None means those of
        this machine. Forgets what is known of files."""
        self._own_processes = self._own_processes or LocalProcesses(self.abilities)
        self.files, self.processes = files or self._own_files, processes or self._own_processes
        self.mutations.use_operations(self.files)
        self.read_cache, self.line_indexes, self.ripgrep = FilesShownToModel(), LineIndexCache(), None
        if self.shell_session is not None:
            self.shell_session.close()
            self.shell_session = None
        self.end_kernel()
        self.on_operations_switched()

    def kernel(self) -> "SessionKernel":
        """Returns the session's Python kernel without starting it."""
        if self._kernel is None:
            # Most sessions never need the kernel.
            from tools.kernel.kernel_settings import KernelSettings  # noqa: PLC0415
            from tools.kernel.session_kernel import SessionKernel  # noqa: PLC0415

            self._kernel = SessionKernel(self, self._kernel_settings or KernelSettings)
        return self._kernel

    @property
    def has_kernel(self) -> bool:
        """Whether the session's Python kernel object has been created."""
        return self._kernel is not None

    def end_kernel(self, why: str = "") -> None:
        """Ends the session's Python kernel; the next result of `eval` reports that its state is gone."""
        if self._kernel is not None:
            self._kernel.end_kernel(why)

    @property
    def may_index_repository(self) -> bool:
        """Whether the repository of the working directory may be indexed; does not inspect the folder."""
        return isinstance(self.files, LocalFileOperations) and self._repositories is not None

    def repository(self, folder: str | None = None) -> "MappedRepository | None":
        """Returns the repository map of the working directory, or of the added folder that contains `folder`, if it may
        be indexed. For a thread."""
        main = self._repository_at(self.cwd)
        if main is None or folder is None or not self.added.paths:
            return main
        real = Path(os.path.realpath(folder))
        if real.is_relative_to(os.path.realpath(main.root)):
            return main
        base = next((one for one in self.added.paths if real.is_relative_to(one)), None)
        return main if base is None else self._repository_at(base)

    def repositories(self) -> "tuple[MappedRepository, ...]":
        """Returns the repository maps of the working directory and of all added folders, each once. For a thread."""
        found = map(self.repository, (None, *self.added.real))
        return tuple({one.root: one for one in found if one is not None}.values())

    def _repository_at(self, base: Path) -> "MappedRepository | None":
        if self._repositories is None or not isinstance(self.files, LocalFileOperations):
            return None
        wanted, known = self._repositories(base), self._mapped_repositories.get(base)
        if wanted is not known:
            in_use = (self.cwd, *self.added.paths)
            for one in [one for one in self._mapped_repositories if one == base or one not in in_use]:
                self._mapped_repositories.pop(one).close_index_of_repository()
            if wanted is not None:
                self._mapped_repositories[base] = wanted
                wanted.on_progress = lambda: self.on_map_progress()
        return wanted

    @property
    def last_used_repository(self) -> "MappedRepository | None":
        """Returns the repository map of the working directory as it was used last, without inspecting anything."""
        return self._mapped_repositories.get(self.cwd)

    @property
    def last_used_repositories(self) -> "tuple[MappedRepository, ...]":
        """Returns all repository maps as they were used last."""
        return tuple(self._mapped_repositories.values())

    def _on_file_change(self, change: FileChange) -> None:
        """Reacts to a changed file: keeps an autorun file that bayou itself wrote or restored from being set aside,
        and reports the change to the repository map in a thread."""
        if change.by != "command":
            self.guard.accept_autorun_file(change.path)
        for repository in self._mapped_repositories.values():
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, repository.announce_edit(Path(change.path)))

    def change_directory(self, cwd: Path) -> None:
        """Changes the working directory of commands and paths. A persistent shell would stay in the old one and is
        closed."""
        self.cwd = cwd
        self.end_kernel(f"The session works in {cwd} now.")
        if self.shell_session is not None:
            self.shell_session.close()
            self.shell_session = None

    def close(self) -> None:
        """Ends every process that commands of this session left running, and removes temporary files."""
        self.end_kernel()
        for process in tuple(self.running_processes):
            process.kill()
        self.running_processes.clear()
        if self.shell_session is not None:
            self.shell_session.close()
            self.shell_session = None
        for repository in self._mapped_repositories.values():
            repository.close_index_of_repository()
        self._mapped_repositories.clear()
        if self._own_processes is not None:
            self._own_processes.close()
        self.guard.close()
        self.artifacts.close()


def workspace_of_context(context: ToolContext) -> SessionWorkspace:
    """Returns the session's workspace; a call without a session (a test, a script) gets a new workspace."""
    if not isinstance(context.workspace, SessionWorkspace):
        context.workspace = SessionWorkspace(context.cwd)
    return context.workspace
