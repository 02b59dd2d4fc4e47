"""The permission mode and rules of one session: from the settings, and for the session alone."""

from collections.abc import Callable

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.session_options import SessionOptions
from app.engine.core.user_questions import ApprovalReply
from app.engine.permissions.permission_context import (
    PermissionContext,
    current_permission_mode,
    rules_from_settings,
)
from app.engine.permissions.sandbox_exceptions import allow_sandbox_place, save_permission_rule
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.permits.permission_decisions import PERMISSION_MODES, PermissionMode, PermissionPolicy
from app.permits.permit_rules import PermitRule, PermitRuleProblem, PermitRules, RuleAction, parse_permit_rule
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry
from app.values.user_errors import UserError

PLAN_MODE_ENTRY_TYPE = "bayou.plan"
"""The type of entries that say whether plan mode is on; a resumed session restores it."""


class SessionPermissionRules:
    """The current permission mode and rules of one session."""

    def __init__(
        self,
        standing: PermissionContext,
        options: SessionOptions,
        conversation: Conversation,
        boxes: Callable[[], ToolCallSandboxes],
    ) -> None:
        """Creates the rules from the settings. `boxes` is the session's sandbox, which follows these rules too."""
        self._permission_context = standing
        self._options = options
        self._conversation = conversation
        self._sandboxes = boxes
        self._rules_of_sessions: tuple[tuple[str, PermitRule], ...] = ()
        """The rules that apply to one session only, each with the id of that session."""

    @property
    def session_rules(self) -> tuple[PermitRule, ...]:
        """The permission rules for this session only, with those of the session that started it. What was allowed
        in another session, which was open before, does not apply; what was denied does."""
        own = (
            rule
            for session, rule in self._rules_of_sessions
            if rule.action != "allow" or session == self._session_id
        )
        return (*self._permission_context.session_rules(), *own)

    @property
    def _session_id(self) -> str:
        return self._conversation.log.header.id

    @property
    def mode(self) -> PermissionMode:
        return current_permission_mode(
            self._options.effective_settings,
            self._permission_context,
            has_box=lambda: self._sandboxes().can_sandbox_commands,
        )

    def set_mode(self, mode: PermissionMode) -> None:
        """Sets the permission mode for this session. Raises `UserError`."""
        if mode not in PERMISSION_MODES:
            raise UserError(f"There is no permission mode {mode}. Modes: {', '.join(PERMISSION_MODES)}.")
        self._options.effective_settings.set("permissions.mode", mode)

    def all_rules(self) -> PermitRules:
        found = rules_from_settings(self._options.effective_settings, self._permission_context)
        return msgspec.structs.replace(found, rules=(*self.session_rules, *found.rules))

    def permission_policy(self, rules: PermitRules | None = None) -> PermissionPolicy:
        rules, mode = rules or self.all_rules(), self.mode
        return PermissionPolicy(
            mode=mode,
            is_planning=mode == "read-only" and is_plan_mode_on(self._conversation.log),
            rules=rules.rules,
            has_sandbox=self._sandboxes().are_in_force,
            has_private_network=self._sandboxes().have_own_network,
            sandbox_exceptions=self._options.effective_settings.settings.permissions.floor_exceptions,
        )

    def add_allow_rule(self, text: str) -> None:
        """Adds a rule that allows calls in this session. Raises `UserError` for an invalid rule."""
        self._add_parsed(text, "allow")

    def add_deny_rule(self, text: str) -> None:
        """Adds a rule that refuses calls in this session. Raises `UserError` for an invalid rule."""
        self._add_parsed(text, "deny")

    def _add_parsed(self, text: str, action: RuleAction) -> None:
        rule = parse_permit_rule(text, action, "session")
        if isinstance(rule, PermitRuleProblem):
            raise UserError(str(rule))
        self.add_rule(rule)

    def add_rule(self, rule: PermitRule) -> None:
        """Adds a permission rule for this session and its helpers; a rule that comes from a helper's question
        applies to its parent's session."""
        if self._permission_context.add_session_rule is not None:
            self._permission_context.add_session_rule(rule)
        else:
            self._rules_of_sessions = (*self._rules_of_sessions, (self._session_id, rule))
            self._permission_context.shared_permissions.note_rules_changed()

    def settings_rules(self, deed: RuleAction) -> tuple[str, ...]:
        """Returns the permission rules in the user's settings."""
        return tuple(self._options.effective_settings.layer_values(f"permissions.{deed}").get("global", ()))

    def add_rule_from_reply(self, reply: ApprovalReply) -> None:
        """Adds the rule in the user's approval answer, in the scope that the answer names."""
        assert reply.rule is not None
        effective_settings, is_for_person = self._options.effective_settings, reply.rule_scope == "person"
        if reply.rule_scope != "project" and allow_sandbox_place(
            reply.rule, effective_settings, keeps=is_for_person
        ):
            return
        self.add_allow_rule(reply.rule)
        save_permission_rule(
            reply.rule, reply.rule_scope, effective_settings, str(self._permission_context.session_folder())
        )

    def remove_rule(self, text: str) -> None:
        """Removes a permission rule of this session."""
        self._rules_of_sessions = tuple(one for one in self._rules_of_sessions if one[1].text != text)
        self._permission_context.shared_permissions.note_rules_changed()

    def remove_folder_rule(self, text: str) -> None:
        """Removes a permission rule for this folder from the user's settings."""
        effective_settings, here = (
            self._options.effective_settings,
            str(self._permission_context.session_folder()),
        )
        known = dict(effective_settings.layer_values("permissions.allowIn").get("global", {}))
        known[here] = tuple(one for one in known.get(here, ()) if one.strip() != text)
        effective_settings.save_value(
            "permissions.allowIn", {folder: rules for folder, rules in known.items() if rules}
        )


def is_plan_mode_on(log: SessionLog) -> bool:
    """Whether plan mode is on at the current point of the session tree."""
    said = (
        one
        for one in log.entries_to_root(without_messages=True)
        if isinstance(one, CustomEntry) and one.custom_type == PLAN_MODE_ENTRY_TYPE
    )
    entry = next(said, None)
    return entry is not None and entry.data == {"on": True}
