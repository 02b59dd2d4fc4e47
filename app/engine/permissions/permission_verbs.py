"""What faces do with a session's gate: see what it goes by and what it decided, choose a mode, take a rule back."""

import os
from pathlib import Path
from typing import Literal

from app.engine.permissions.gate import GateState, Permits
from app.engine.sandbox.sandboxes import BoxState
from app.permits.decide import Mode
from app.permits.rules import Deed
from tools.effects import Effects
from tools.workspace import Workspace


class PermissionVerbs:
    """Of one session."""

    def __init__(self, permits: Permits, workspace: Workspace) -> None:
        self._permits = permits
        self._workspace = workspace

    @property
    def mode(self) -> Mode:
        return self._permits.mode

    def view(self) -> GateState:
        return self._permits.view()

    def box(self) -> BoxState:
        """What the agent's commands can write, see and reach."""
        return self._permits.boxes.state()

    def look_at_system(self) -> None:
        """What it can hold back is told from now on (`State.without_box`). In a thread."""
        self._permits.boxes.look()

    def set_mode(self, mode: Mode) -> None:
        """For this session. Raises `Unable`."""
        self._permits.set_mode(mode)

    def allow(self, text: str) -> None:
        """A rule for this session. Raises `Unable` for what is none."""
        self._permits.allow(text)

    def why_unread(self, path: Path) -> str:
        """Of a file that is kept back: why a `read` of it does not run unasked. Empty mostly."""
        real = os.path.realpath(path)
        if not self._workspace.kept_back()(real):
            return ""
        decision = self._permits.judge(Effects(reads=(real,)), tool="read")
        if decision.outcome == "run":
            return ""
        said = "refused by" if decision.outcome == "refuse" else "asked about, by"
        return f"reading it is {said} {decision.decided_by} ({decision.decisive.part.why})"

    def own_rules(self, deed: Deed) -> tuple[str, ...]:
        """As they stand in the person's settings."""
        return self._permits.own_rules(deed)

    def set_approvals(self, answers: Literal["ask", "deny"]) -> None:
        """Whether the program that drives the session answers questions; one that does not is asked none."""
        self._permits.answering.set_program(answers)

    def forget_here(self, text: str) -> None:
        """A rule of the person's own for this folder."""
        self._permits.forget_here(text)

    def forget(self, text: str) -> None:
        """A rule that was given for this session."""
        self._permits.forget(text)
