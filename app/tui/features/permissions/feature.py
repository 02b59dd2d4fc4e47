"""The feature for permissions: approvals, modes and rules, the sandbox, secrets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.permissions.approvals import Approvals
from app.tui.features.review.feature import REVIEW
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.permissions.page import FoldersPage, PermissionsPage
    from app.tui.features.permissions.secrets import SecretsPage


class ApprovalsFeature(Feature[Approvals]):
    keys: Sequence[PageKey[Approvals]] = (
        PageKey(
            id="app.approval.once",
            keys="alt+a",
            help="Allow the call, this once",
            run_key=lambda page: page.allow_once(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.deny",
            keys="alt+x",
            help="Deny; text in the editor is sent as the reason",
            run_key=lambda page: page.deny(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.always",
            keys="alt+w",
            help="Always allow: choose a rule to save",
            run_key=lambda page: page.always_allow(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.whole",
            keys="alt+v",
            help="Show all details of the call",
            run_key=lambda page: page.show_details(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.enter",
            keys="f8",
            help="Focus the approval question",
            run_key=lambda page: page.focus_card(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.permissions.cycle",
            keys="alt+m",
            help="Next permission mode",
            run_key=lambda page: page.cycle_mode(),
        ),
    )
    subscriptions: Sequence[Subscription[Approvals]] = (
        Subscription(("approval",), lambda page, event: page.handle_event(event)),
    )

    def page(self, screen: FeatureServices) -> Approvals:
        session = screen.session
        return Approvals(
            session.permissions,
            screen.approval_bar,
            screen.editor,
            preview_call=session.previews.preview_call,
            has_preview=session.previews.has_preview,
            spawn=screen.tasks.spawn,
            screens=screen.screens,
            show_screen=screen.ask,
            show_message=screen.show_message,
            show_temporary_text=screen.status.show_hint,
            notify_waiting=screen.notify_waiting,
            key_label=screen.key_label,
            tells_alt=screen.tells_alt,
            is_busy=lambda: session.state.is_busy,
            review_page=lambda: screen.page(REVIEW),
        )


class PermissionsFeature(Feature["PermissionsPage"]):
    slash_commands: Sequence[SlashCommand["PermissionsPage"]] = (
        SlashCommand(
            name="permissions",
            hint="[mode]",
            help="permission mode, rules and recent decisions",
            run=lambda page, text: page.open(text),
        ),
        SlashCommand(
            name="sandbox",
            hint="[auto|off|required]",
            help="sandbox mode and access of commands",
            run=lambda page, text: page.sandbox.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "PermissionsPage":
        from app.tui.features.permissions.page import PermissionsPage  # noqa: PLC0415  (when it is first used)

        return PermissionsPage(
            screen.session.permissions, screen.ask, screen.show_message, screen.save_default
        )


class FoldersFeature(Feature["FoldersPage"]):
    slash_commands: Sequence[SlashCommand["FoldersPage"]] = (
        SlashCommand(
            name="add-dir",
            hint="[folder]",
            help="add a working folder; list or remove added ones",
            run=lambda page, text: page.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "FoldersPage":
        from app.tui.features.permissions.page import FoldersPage  # noqa: PLC0415  (when it is first used)

        return FoldersPage(screen.session.folders, screen.ask, screen.show_message)


class SecretsFeature(Feature["SecretsPage"]):
    slash_commands: Sequence[SlashCommand["SecretsPage"]] = (
        SlashCommand(name="secrets", session_command="get_secrets", run=lambda page, _: page.open()),
        SlashCommand(name="unmask", session_command="unmask", run=lambda page, _: page.unmask()),
    )

    def page(self, screen: FeatureServices) -> "SecretsPage":
        from app.tui.features.permissions.secrets import SecretsPage  # noqa: PLC0415  (when it is first used)

        return SecretsPage(
            screen.session.secrets, screen.session.resend_unmasked, screen.ask, screen.show_message
        )


APPROVALS = ApprovalsFeature()
PERMISSIONS = PermissionsFeature()
FOLDERS = FoldersFeature()
SECRETS = SecretsFeature()
FEATURES = (
    APPROVALS,
    PERMISSIONS,
    FOLDERS,
    SECRETS,
)
