"""Decides whether the project's own parts apply, and checks again whenever one of them would be read."""

import asyncio
from collections.abc import Callable, Sequence

from app.resources.paths import BayouPaths
from app.resources.trust.project_items import ProjectTrustItem
from app.resources.trust.project_trust import TrustDecision, new_trust_items, recheck_project_trust
from tools.text_sanitizing import reveal_hidden_characters

_MAX_NAMED_FILES = 3


class ProjectTrustChecker:
    """The trust decision about one project, valid while its files are those that were approved."""

    def __init__(self, paths: BayouPaths, decision: TrustDecision) -> None:
        self.decision = decision
        self.tell: Callable[[str], None] = lambda text: None
        """A function that is called with one text when files were added or changed since the trust decision."""
        self._paths = paths

    def is_trusted(self) -> bool:
        """Whether the project's own settings and extensions apply. Files added or changed since the decision do
        not apply until the user approves them."""
        return self._update_decision(recheck_project_trust(self._paths, self.decision))

    async def recheck_in_thread(self) -> bool:
        """Checks the project's trust again, without blocking while files are read."""
        return self._update_decision(
            await asyncio.to_thread(recheck_project_trust, self._paths, self.decision)
        )

    def recheck_without_notice(self) -> bool:
        """Checks the project's trust again without reporting changed files; may be called from any thread."""
        return recheck_project_trust(self._paths, self.decision).is_trusted

    def set_decision(self, decision: TrustDecision) -> None:
        self.decision = decision

    def _update_decision(self, now: TrustDecision) -> bool:
        before, self.decision = self.decision, now
        if now is not before and now.reason == "changed":
            self.tell(_describe_change(now, before))
        return now.is_trusted


def is_explicit_trust_approval(decision: TrustDecision) -> bool:
    """Whether the user was shown exactly these project files and approved them, as opposed to approval in
    advance or by a flag."""
    return decision.is_trusted and not decision.covers_future_items and decision.reason in ("saved", "answer")


def untrusted_folder_notice(decision: TrustDecision) -> str | None:
    """Returns the notice for runs in which project trust cannot be asked for; None when no notice is needed."""
    if decision.is_trusted or decision.reason != "not-asked":
        return None
    return (
        "This folder is not trusted, so its own settings and extensions are ignored "
        f"({_list_items(decision.question.items)}). The full screen and RPC ask about it; --approve trusts it "
        "for one run, --no-approve hides this line."
    )


def _describe_change(now: TrustDecision, before: TrustDecision) -> str:
    items = new_trust_items(now.question, before.question)
    what = _list_items(items) if items else "a file was removed"
    return (
        f"Files of this folder that bayou runs or applies have changed ({what}). They are ignored "
        "until you trust them: /trust, or --approve for one run."
    )


def _list_items(items: Sequence[ProjectTrustItem]) -> str:
    names = list(dict.fromkeys(reveal_hidden_characters(item.path) for item in items))
    more = f" and {len(names) - _MAX_NAMED_FILES} more" if len(names) > _MAX_NAMED_FILES else ""
    return f"{', '.join(names[:_MAX_NAMED_FILES])}{more}"
