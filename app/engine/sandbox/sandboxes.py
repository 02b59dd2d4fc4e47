"""Chooses the sandbox of each tool call from settings, from the gate's decision, and from what this machine
supports.

`tools.box` builds and enforces sandboxes. bayou's own programs (git for undo, ripgrep) and the user's `!`
commands run outside."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.network_hosts import NetworkHosts
from app.engine.sandbox.sandbox_places import PlaceAccess, SandboxBuilder, SandboxGrant
from app.permits.permission_decisions import LOCAL_HOSTS, PermissionMode, ToolCallDecision
from app.permits.permit_rules import bypasses_sandbox_proxy, hosts_reached_by_part
from app.permits.risk_classes import ToolCallPart
from app.permits.sandbox_exceptions import DECIDED_BY_LEAVE_REQUEST, CheckedSandboxRequest
from app.resources.settings.settings import Settings
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import ConfinementMethod, SandboxFeatures
from tools.box.sandbox_permission_requests import parse_sandbox_permission_request
from tools.box.sandbox_policy import SandboxPolicy, SandboxWriteMode
from tools.files.paths import real_path
from tools.session_workspace import SessionWorkspace
from tools.thread_work import await_despite_cancellation
from tools.tool_definition import ToolError

if TYPE_CHECKING:
    from tools.box.sandbox_proxy import SandboxProxy

_MAX_SANDBOX_GRANTS = 1_000
_FILE_SANDBOX_CACHE_SECONDS = 1.0
_BAYOU_PROGRAM_CALL_ID = "program"
_UNKNOWN_COMMAND_TEXT = "a command in the sandbox"
_MAX_SHOWN_COMMAND_CHARACTERS = 120
_GIT_REPACK_COMMANDS = (("git", "gc"), ("git", "repack"), ("git", "maintenance"))


class SandboxState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session's sandboxes."""

    setting: Literal["auto", "off", "required"]
    step: ConfinementMethod
    """The strongest sandbox that this system supports."""
    why: str
    """Why the system supports no stronger sandbox."""
    is_in_force: bool
    """Whether the agent's next command runs in a sandbox."""
    network: str
    writable: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


def is_sandbox_usable(settings: Settings, abilities: SandboxFeatures | None = None) -> bool:
    """Whether the system and the settings allow sandboxed commands."""
    return settings.sandbox.mode != "off" and (abilities or system_sandbox_features()).step != "none"


class ToolCallSandboxes:
    """Chooses the sandbox of each tool call in one session."""

    def __init__(
        self,
        options: SessionOptions,
        workspace: SessionWorkspace,
        command_context: CommandPlaceFacts,
        *,
        mode: Callable[[], PermissionMode],
        home: Path,
        own: Path,
        sessions: Path | None = None,
        hosts: NetworkHosts | None = None,
        allowed_places: Callable[[PlaceAccess], tuple[str, ...]] = lambda verb: (),
    ) -> None:
        """Prepares the sandboxes. `mode` returns the permission mode. `own` is bayou's folder of settings and
        credentials. `sessions` is the folder of all sessions, if it is elsewhere."""
        self._mode = mode
        self.hosts = hosts
        self._proxy: SandboxProxy | None = None
        self._options = options
        self._workspace = workspace
        self._paths = SandboxBuilder(
            options,
            workspace,
            command_context,
            home=home,
            own=own,
            sessions=sessions,
            allowed_places=allowed_places,
        )
        self._grant_by_call: dict[str, SandboxGrant] = {}
        self._granted_places: set[str] = set()
        """The places that the user allowed for single tool calls, by call."""
        self._cached_file_box: (
            tuple[float, tuple[str, tuple[str, ...], Settings, tuple[str, ...]], SandboxPolicy] | None
        ) = None
        self._is_probed = False
        workspace.box_for_call = self.box_for_call
        workspace.current_box_of = self.box_for_running_call
        workspace.end_proxy_caller = self._end_proxy_caller
        workspace.box_of_files = self.box_for_file_tools
        workspace.box_of_start_up = self.box_for_start_up_files

    @property
    def system_sandbox_features(self) -> SandboxFeatures:
        return self._workspace.abilities()

    @property
    def can_sandbox_commands(self) -> bool:
        """Whether commands can run in a sandbox here, which the system must support and the settings must not
        switch off."""
        return self._workspace.has_local_processes and is_sandbox_usable(
            self._options.effective_settings.settings, self.system_sandbox_features
        )

    @property
    def are_in_force(self) -> bool:
        return (self._sandbox_setting == "required" or self._mode() != "full") and self.can_sandbox_commands

    @property
    def have_own_network(self) -> bool:
        return (
            self.are_in_force
            and self._paths.has_mounts
            and self._options.effective_settings.settings.sandbox.network != "open"
        )

    @property
    def missing_sandbox_warning(self) -> str:
        """The warning in the status line that commands have no sandbox; empty in mode `full`, which means that
        anyway, and before the system was probed."""
        if self._mode() == "full" or not self._is_probed:
            return ""
        if not self.are_in_force:
            why = "sandbox off" if self._sandbox_setting == "off" else "no sandbox"
            return f"{why}: commands need approval" if self._mode() == "auto-edit" else why
        return "" if self.system_sandbox_features.step.startswith("namespaces") else "Landlock only"

    def probe_system(self) -> None:
        """Determines which sandbox the system supports, in a child process that takes about as long as a frame;
        call it in a thread, after the first paint."""
        if self._mode() != "full":
            _ = self.are_in_force
        self._is_probed = True

    def sandbox_state(self) -> SandboxState:
        """Returns the current state of the sandbox in which commands run."""
        is_in_force = self.are_in_force
        box = self._paths.build_box("work", SandboxGrant()) if is_in_force else None
        why = self.system_sandbox_features.why
        if not self._workspace.has_local_processes:
            why = "commands run on another machine"
        return SandboxState(
            setting=self._sandbox_setting,
            step=self.system_sandbox_features.step if self._workspace.has_local_processes else "none",
            why=why,
            is_in_force=is_in_force,
            network=self._options.effective_settings.settings.sandbox.network,
            writable=box.writable if box else (),
            guarded=box.guarded if box else (),
            hidden=box.hidden if box else (),
        )

    def remember_decision(
        self, call_id: str, decision: ToolCallDecision, mode: PermissionMode, command: str = ""
    ) -> None:
        """Remembers how the permission gate allowed a tool call, for the call's sandbox. From any thread."""
        for part in decision.verdict.parts:
            if part.risk == "forbidden" and part.path is not None:
                self._granted_places.add(real_path(part.path))
        self.remember_grant(call_id, self._grant_from_decision(decision, mode, command))

    def remember_grant(self, call_id: str, leave: SandboxGrant) -> None:
        while len(self._grant_by_call) >= _MAX_SANDBOX_GRANTS:
            self._grant_by_call.pop(next(iter(self._grant_by_call)), None)
        self._grant_by_call[call_id] = leave

    def _grant_from_decision(
        self, decision: ToolCallDecision, mode: PermissionMode, command: str
    ) -> SandboxGrant:
        risk = decision.verdict.risk
        if any(answer.decided_by == DECIDED_BY_LEAVE_REQUEST for answer in decision.part_decisions):
            return SandboxGrant(kind="outside")
        if decision.sandbox_requests:
            risk = "contained"
        if risk == "forbidden" or (mode == "full" and self._sandbox_setting != "required"):
            return SandboxGrant(kind="outside")
        parts = decision.verdict.parts[len(decision.sandbox_requests) :]
        known = [part.command_words for part in parts]
        reaching = [part for part in parts if part.uses_network and not _is_local(part)]
        requested = decision.sandbox_requests
        return SandboxGrant(
            kind="read" if risk == "safe" else "work",
            command=_shorten_command(command),
            uses_network=bool(reaching),
            hosts=frozenset(
                host
                for part in decision.verdict.parts
                if part.uses_network
                for host in hosts_reached_by_part(part)
            ),
            writable=frozenset(one.place for one in requested if one.verb == "write"),
            shown_paths=frozenset(one.place for one in requested if one.verb in ("read", "use")),
            bypasses_sandbox_proxy=any(map(bypasses_sandbox_proxy, reaching)),
            is_repack_only=bool(known)
            and all(words is not None and words[:2] in _GIT_REPACK_COMMANDS for words in known),
            programs=frozenset(words[0].rpartition("/")[2] for words in known if words)
            if all(known) and decision.shows_credentials
            else frozenset(),
        )

    async def box_for_call(self, call_id: str, *, lasts: bool = False) -> SandboxPolicy | None:
        """Returns the sandbox for a process of a tool call; None: it runs outside. `lasts` means that the process
        serves later calls too. Raises `ToolError` if the sandbox is required and cannot be built."""
        self._require_usable_sandbox()
        leave = self._grant_by_call.get(call_id)
        if leave is None:
            if not self.are_in_force:
                return None
            leave = SandboxGrant()
        elif leave.kind == "outside" or not self.can_sandbox_commands:
            return None
        if lasts:  # the exceptions of one call do not hold for later ones
            leave = SandboxGrant(command=leave.command)
        kind: SandboxWriteMode = "read" if leave.kind == "read" else "work"
        box = await asyncio.to_thread(self._paths.reserve_and_build_box, kind, leave)
        return await self._with_proxy(box, call_id, leave, lasts=lasts)

    def box_for_running_call(self, call_id: str) -> SandboxPolicy | None:
        """Returns the current sandbox for a tool call that is still running. For a thread."""
        leave = self._grant_by_call.get(call_id, SandboxGrant())
        if leave.kind == "outside" or not self.can_sandbox_commands:
            return None
        return self._paths.build_box(leave.kind, leave)

    def box_for_file_tools(self) -> SandboxPolicy | None:
        """Returns the sandbox for file operations of the tools."""
        if not self.are_in_force:
            return None
        key = (
            str(self._workspace.cwd),
            self._workspace.added.real,
            self._options.effective_settings.settings,
            self._paths.places_allowed_by_rules,
        )
        now = time.monotonic()
        if (
            self._cached_file_box is None
            or self._cached_file_box[1] != key
            or now - self._cached_file_box[0] > _FILE_SANDBOX_CACHE_SECONDS
        ):
            self._cached_file_box = (now, key, self._paths.build_box("work", SandboxGrant()))
        return msgspec.structs.replace(self._cached_file_box[2], granted=tuple(self._granted_places))

    def box_for_start_up_files(self, folder: str) -> SandboxPolicy | None:
        """Returns the sandbox for reading the start-up files of the user's shell, which may write and send
        nothing. Returns None where a forbidden write would hang: some files wait for a lock until a timeout."""
        self._require_usable_sandbox()
        if self._sandbox_setting == "off" or not (self.can_sandbox_commands and self._paths.has_mounts):
            return None
        return SandboxPolicy(kind="read", writable=(folder,), environment=(("TMPDIR", folder),))

    def check_sandbox_request(self, text: str) -> CheckedSandboxRequest | None:
        """Returns the grant that a tool call's sandbox request asks for, with objections. None if every command
        has it already, or if the request has an unknown form. For a thread."""
        request = parse_sandbox_permission_request(text)
        if request is None or request.verb == "reach":
            return CheckedSandboxRequest(request) if request is not None else None
        return self._paths.check_sandbox_request(request)

    async def box_for_program(self, *, in_every_mode: bool = False) -> SandboxPolicy | None:
        """Returns the sandbox for a program that bayou runs on the workspace. With `in_every_mode`, the program has
        one even if commands of the model run outside."""
        self._require_usable_sandbox()
        if not (self.can_sandbox_commands if in_every_mode else self.are_in_force):
            return None
        leave = SandboxGrant(command="a program started by bayou")
        box = await asyncio.to_thread(self._paths.reserve_and_build_box, "work", leave)
        return await self._with_proxy(box, _BAYOU_PROGRAM_CALL_ID, leave, lasts=False)

    async def box_for_server(self, server: str) -> SandboxPolicy | None:
        """Returns the sandbox for an MCP server, the same in every mode, since it serves several calls. Its
        network is open, since most servers need it, and it has caches of its own, since it may have keys."""
        self._require_usable_sandbox()
        if not is_sandbox_usable(self._options.effective_settings.settings, self.system_sandbox_features):
            return None
        leave = SandboxGrant(server=server)
        box = await asyncio.to_thread(self._paths.reserve_and_build_box, "work", leave)
        return msgspec.structs.replace(box, network="open")

    @asynccontextmanager
    async def watch_for_autorun_files(
        self, box: SandboxPolicy | None, runner: str, warn: Callable[[str], None]
    ) -> AsyncGenerator[None]:
        """Watches for files that programs run later, made by a program of bayou's in its sandbox. `runner` names
        that program."""
        if box is None:
            yield
            return
        from tools.running.sandbox_notes import format_unprevented_change_notes  # noqa: PLC0415  (most sessions run no such program)

        guard = self._workspace.guard
        seen = await asyncio.to_thread(guard.snapshot_before_process, box)
        try:
            yield
        finally:
            self._end_proxy_caller(box.caller)
            changes = await await_despite_cancellation(
                asyncio.to_thread(guard.changes_after_process, seen, box)
            )
            for note in format_unprevented_change_notes(runner, changes):
                warn(note)

    async def autorun_file_notes_between_calls(self) -> list[str]:
        """Returns notes on files that appeared or changed between tool calls while a sandboxed process lasts, such
        as an MCP server."""
        guard = self._workspace.guard
        if not guard.is_watching:
            return []
        from tools.running.sandbox_notes import format_lasting_process_notes  # noqa: PLC0415  (most sessions have no such process)

        return format_lasting_process_notes(
            guard.lasting_process_names, await asyncio.to_thread(guard.changes_between_calls)
        )

    async def _with_proxy(
        self, box: SandboxPolicy, call_id: str, leave: SandboxGrant, *, lasts: bool
    ) -> SandboxPolicy:
        """Adds the proxy's socket to a sandbox whose hosts are allowed one by one."""
        listed = self._options.effective_settings.settings.sandbox.network == "listed"
        if box.network != "own" or not listed or self.hosts is None or not self._paths.has_mounts:
            return box
        # Only where hosts are allowed one by one.
        from tools.box.sandbox_proxy import SandboxProxy, proxy_environment_variables  # noqa: PLC0415

        network = await self._workspace.session_sandbox_network()
        if self._proxy is None:
            hosts = self.hosts
            self._proxy = SandboxProxy(hosts.decide_connection, is_listed=hosts.is_host_allowed_by_rule)
            await self._proxy.serve(network.listening_socket)
        caller = self.hosts.register_caller(
            call_id, leave.command or _UNKNOWN_COMMAND_TEXT, leave.hosts, lasts=lasts
        )
        environment = (*box.environment, *proxy_environment_variables(network.port, caller))
        return msgspec.structs.replace(box, environment=environment, caller=caller)

    def _end_proxy_caller(self, caller: str) -> tuple[str, ...]:
        return self.hosts.end_caller(caller) if self.hosts is not None else ()

    def close(self) -> None:
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        if self.hosts is not None:
            self.hosts.close()
        self._paths.close()

    @property
    def _sandbox_setting(self) -> Literal["auto", "off", "required"]:
        return self._options.effective_settings.settings.sandbox.mode

    def _require_usable_sandbox(self) -> None:
        step = self.system_sandbox_features.step
        if self._sandbox_setting != "required":
            return
        if not self._workspace.has_local_processes:
            raise ToolError(
                "Nothing was run: this session's commands run on another machine, where no sandbox can be "
                "created, and the setting sandbox.mode is `required`. The user can change it in /settings."
            )
        if not step.startswith("namespaces"):
            raise ToolError(
                f"Nothing was run: the setting sandbox.mode is `required`, and this system has "
                f"{'no sandbox' if step == 'none' else 'only a part of it (' + step + ')'}: "
                f"{self.system_sandbox_features.why}. "
                "The user can change the setting in /settings; `bayou sandbox` shows what works."
            )


def _is_local(part: ToolCallPart) -> bool:
    """Whether the part only reaches servers that the session itself started."""
    return bool(part.named_hosts) and all(
        host.rpartition(":")[0].strip("[]") in LOCAL_HOSTS for host in part.named_hosts
    )


def _shorten_command(command: str) -> str:
    line = " ".join(command.split())
    return (
        line
        if len(line) <= _MAX_SHOWN_COMMAND_CHARACTERS
        else line[: _MAX_SHOWN_COMMAND_CHARACTERS - 1] + "…"
    )
