"""Runs commands in boxes as a session does, on a chosen step."""

from pathlib import Path
from typing import Any

from app.engine.core.session_options import SessionOptions
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandbox_places import SandboxGrant
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.resources.settings.effective_settings import EffectiveSettings
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import ConfinementMethod, limit_features_to_method
from tools.files.output_artifacts import OutputArtifacts
from tools.running.running_command import CommandOutcome, RunningCommand, start_command
from tools.running.shell_settings import CommandToSpawn, ShellSettings, command_environment
from tools.session_workspace import SessionWorkspace


class BoxedCommands:
    def __init__(
        self, home: Path, project: Path, step: ConfinementMethod, *, is_persistent: bool = False
    ) -> None:
        abilities = limit_features_to_method(system_sandbox_features(), step)
        settings = ShellSettings(shell_path="/bin/bash", is_persistent=is_persistent)
        own = home / ".bayou" / "agent"
        self.workspace = SessionWorkspace(
            project,
            artifacts=OutputArtifacts(working=own / "cache" / "working"),
            shell=lambda: settings,
            abilities=lambda: abilities,
            cache_dir=own / "cache",
        )
        self.effective_settings = EffectiveSettings()
        self.boxes = ToolCallSandboxes(
            SessionOptions(self.effective_settings),
            self.workspace,
            CommandPlaceFacts(home, own),
            mode=lambda: "auto-edit",
            home=home,
            own=own,
        )

    def let_run(self, call_id: str, **how: Any) -> None:
        self.boxes.remember_grant(call_id, SandboxGrant(**how))

    async def started(self, command: str, call_id: str = "c", **more: Any) -> RunningCommand:
        """It goes on, as a background job does."""
        plan = CommandToSpawn(
            command=command,
            cwd=str(self.workspace.cwd),
            environment=command_environment(self.workspace.shell_settings()),
        )
        return await start_command(self.workspace, plan, tool="bash", call_id=call_id, **more)

    async def outcome(self, command: str, call_id: str = "c", **more: Any) -> CommandOutcome:
        return await (await self.started(command, call_id, **more)).finish(60)

    async def text(self, command: str, call_id: str = "c", **more: Any) -> str:
        return (await self.outcome(command, call_id, **more)).output.text

    async def code(self, command: str, call_id: str = "c") -> int | None:
        return (await self.outcome(command, call_id)).exit_code

    def close(self) -> None:
        self.workspace.close()
        self.boxes.close()
