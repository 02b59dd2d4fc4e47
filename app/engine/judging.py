"""What a call would do, and what mode and rules make of it: what there is to look at is gathered here.

What a command does, what rules say and what a mode makes of it is `app.permits`' business, which looks at nothing.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.engine.boxes import Boxes
from app.engine.known_definitions import KnownDefinitions
from app.engine.whereabouts import Whereabouts
from app.permits.decide import CallDecision, Mode, Policy, decide, is_by_mode
from app.permits.leaving import leaving
from app.permits.place import CommandPlace
from app.permits.rules import PermitRules
from tools.base import Tool
from tools.edits.named import files_meant, patch_in_command
from tools.files.paths import absolute
from tools.files.places import exists
from tools.workspace import Workspace


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A call that was looked at."""

    place: CommandPlace
    """The one that it was judged in."""
    decision: CallDecision
    rules: PermitRules
    mode: Mode
    by: str
    """Who has decided."""
    is_by_mode_alone: bool


class Judging(msgspec.Struct, frozen=True):
    """For one session's gate. It does nothing."""

    workspace: Workspace
    whereabouts: Whereabouts
    boxes: Boxes
    definitions: KnownDefinitions
    rules: Callable[[], PermitRules]
    policy: Callable[[PermitRules], Policy]

    def judged(self, name: str, arguments: Mapping[str, Any], tool: Tool) -> Judged:
        """A call of that tool, by all that is known of both. For a thread."""
        place, decision, rules, mode = self.decided(name, arguments, tool.is_read_only, tool.claim)
        decision = self.definitions.looked_at(tool, decision)
        return Judged(
            place=place,
            decision=decision,
            rules=rules,
            mode=mode,
            by=decision.decided_by,
            is_by_mode_alone=all(is_by_mode(answer.decided_by) for answer in decision.answers),
        )

    def decided(
        self, name: str, arguments: Mapping[str, Any], is_read_only: bool, claim: str = ""
    ) -> tuple[CommandPlace, CallDecision, PermitRules, Mode]:
        """In which place, by which rules and in which mode."""
        # The parser and the tables of programs are needed at the first call, and not at the start.
        from app.permits.tools import CallRequest, judge_call, judged_as  # noqa: PLC0415

        patch = patch_in_command(arguments) if name == "bash" else None
        if patch is not None and not self.workspace.shell().is_persistent:
            name, arguments = "apply_patch", {"input": patch}
        place = self.whereabouts.place(
            self.workspace.cwd,
            self.workspace.shell().passed_names,
            stands_in=self._stands_in(name, arguments),
            has_box=self.boxes.are_in_force,
        )
        if name == "bash" and isinstance(cwd := arguments.get("cwd"), str) and cwd.strip():
            place = msgspec.structs.replace(place, folder=os.path.realpath(absolute(cwd, self.workspace.cwd)))
        own = self.workspace.shell().own
        if own is not None and own.known is not None:
            place = msgspec.structs.replace(
                place, aliases=own.known.aliases, functions=frozenset(own.known.functions)
            )
        path, *also = self._paths(name, arguments) or (None,)
        is_staged = name == "resolve"
        request = CallRequest(
            tool="edit" if is_staged and path is not None else judged_as(name),
            arguments=arguments,
            path=path,
            also=tuple(filter(None, also)),
            claim=claim,
            is_read_only=is_read_only or (is_staged and arguments.get("action") == "discard"),
        )
        rules = self.rules()
        policy = self.policy(rules)
        decision = decide(judge_call(request, place), request.tool, policy, place)
        if name == "bash" and arguments.get("outside") is True and self.boxes.are_in_force:
            reason = str(arguments.get("reason") or "")
            decision = leaving(decision, str(arguments.get("command")), reason, policy.mode)
        return place, decision, rules, policy.mode

    def _stands_in(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Where a command begins: in a shell that lasts nobody knows where that has gone."""
        if name != "bash":
            return None
        raw = arguments.get("cwd")
        if isinstance(raw, str) and raw:
            return absolute(raw, self.workspace.cwd)
        has_own_shell = bool(arguments.get("background") or arguments.get("pty"))
        return "" if self.workspace.shell().is_persistent and not has_own_shell else None

    def _paths(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """As the tool reads its arguments: with `@`, quotes, `~`, and the spellings that it tries."""
        if name == "resolve":
            id = arguments.get("id")
            is_applied = arguments.get("action") == "apply"
            return self.workspace.pending.paths(id if isinstance(id, str) else None) if is_applied else ()
        return files_meant(name, arguments, self.workspace.cwd, lambda path: exists(self.workspace, path))
