"""The permission mode and rules of one session: from the settings, and for the session alone."""

from collections.abc import Callable

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.session_options import SessionOptions
from app.engine.core.user_questions import ApprovalReply
from app.engine.permissions.permission_context import PermissionContext, mode_of, rules_from_settings
from app.engine.permissions.sandbox_exceptions import allow_place, keep_rule
from app.engine.sandbox.sandboxes import Sandboxes
from app.permits.permission_decisions import PERMISSION_MODES, PermissionMode, PermissionPolicy
from app.permits.rules import PermitRule, PermitRules, RuleAction, RuleProblem, parse_rule
from app.sessions.session_log import SessionLog
from app.values.entries import CustomEntry
from app.values.user_errors import UserError

PLAN_ENTRY_TYPE = "bayou.plan"
"""Entries that say whether plan mode is on from there; a session is resumed in it."""


class SessionRules:
    """The current mode and rules."""

    def __init__(
        self,
        standing: PermissionContext,
        options: SessionOptions,
        conversation: Conversation,
        boxes: Callable[[], Sandboxes],
    ) -> None:
        """`boxes`: the session's sandbox, which follows these rules too."""
        self._permission_context = standing
        self._options = options
        self._conversation = conversation
        self._boxes = boxes
        self._given: tuple[PermitRule, ...] = ()
        """The rules for this session only."""

    @property
    def given(self) -> tuple[PermitRule, ...]:
        """The rules for this session only, with those of the session that started it."""
        return (*self._permission_context.session_rules(), *self._given)

    @property
    def mode(self) -> PermissionMode:
        return mode_of(
            self._options.effective_settings,
            self._permission_context,
            has_box=lambda: self._boxes().are_possible,
        )

    def set_mode(self, mode: PermissionMode) -> None:
        """Sets the mode for this session. Raises `UserError`."""
        if mode not in PERMISSION_MODES:
            raise UserError(f"There is no permission mode {mode}. Modes: {', '.join(PERMISSION_MODES)}.")
        self._options.effective_settings.set("permissions.mode", mode)

    def all(self) -> PermitRules:
        found = rules_from_settings(self._options.effective_settings, self._permission_context)
        return msgspec.structs.replace(found, rules=(*self.given, *found.rules))

    def policy(self, rules: PermitRules | None = None) -> PermissionPolicy:
        rules, mode = rules or self.all(), self.mode
        return PermissionPolicy(
            mode=mode,
            is_planning=mode == "read-only" and is_planned(self._conversation.log),
            rules=rules.rules,
            has_box=self._boxes().are_in_force,
            has_private_network=self._boxes().have_own_network,
            exceptions=self._options.effective_settings.settings.permissions.floor_exceptions,
        )

    def allow(self, text: str) -> None:
        """Adds a rule for this session. Raises `UserError` for an invalid rule."""
        self._add(text, "allow")

    def deny(self, text: str) -> None:
        """Adds a rule for this session that refuses such calls. Raises `UserError` for an invalid rule."""
        self._add(text, "deny")

    def _add(self, text: str, action: RuleAction) -> None:
        rule = parse_rule(text, action, "session")
        if isinstance(rule, RuleProblem):
            raise UserError(str(rule))
        self.add(rule)

    def add(self, rule: PermitRule) -> None:
        """Adds a rule for this session, and for its helpers; a helper's answers count for its parent's session."""
        if self._permission_context.add_session_rule is not None:
            self._permission_context.add_session_rule(rule)
        else:
            self._given = (*self._given, rule)

    def written(self, deed: RuleAction) -> tuple[str, ...]:
        """Returns the rules in the user's settings."""
        return tuple(self._options.effective_settings.said(f"permissions.{deed}").get("global", ()))

    def keep(self, reply: ApprovalReply) -> None:
        """Adds the rule of an answer, in the scope that the answer says."""
        assert reply.rule is not None
        effective_settings, is_for_person = self._options.effective_settings, reply.keeps == "person"
        if reply.keeps != "project" and allow_place(reply.rule, effective_settings, keeps=is_for_person):
            return
        self.allow(reply.rule)
        keep_rule(reply.rule, reply.keeps, effective_settings, str(self._permission_context.folder()))

    def forget(self, text: str) -> None:
        """Removes a rule of this session."""
        self._given = tuple(rule for rule in self._given if rule.text != text)

    def forget_here(self, text: str) -> None:
        """Removes a rule of this folder from the user's settings."""
        effective_settings, here = self._options.effective_settings, str(self._permission_context.folder())
        known = dict(effective_settings.said("permissions.allowIn").get("global", {}))
        known[here] = tuple(one for one in known.get(here, ()) if one.strip() != text)
        effective_settings.keep(
            "permissions.allowIn", {folder: rules for folder, rules in known.items() if rules}
        )


def is_planned(log: SessionLog) -> bool:
    """Whether plan mode is on at this place of the tree."""
    said = (
        one
        for one in log.upwards(without_messages=True)
        if isinstance(one, CustomEntry) and one.custom_type == PLAN_ENTRY_TYPE
    )
    entry = next(said, None)
    return entry is not None and entry.data == {"on": True}
