"""The feature for permissions: approvals, modes and rules, the sandbox, secrets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.permissions.approvals import ApprovalQuestionQueue
from app.tui.features.review.feature import REVIEW_FEATURE
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.permissions.page import ExtraFoldersPage, PermissionsPage
    from app.tui.features.permissions.secrets import MaskedSecretsPage


class ApprovalsFeature(TuiFeature[ApprovalQuestionQueue]):
    keys: Sequence[PageKey[ApprovalQuestionQueue]] = (
        PageKey(
            id="app.approval.once",
            keys="alt+a",
            help="Allow the call, this once",
            run_key_action=lambda page: page.allow_once(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.deny",
            keys="alt+x",
            help="Deny; text in the editor is sent as the reason",
            run_key_action=lambda page: page.deny(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.always",
            keys="alt+w",
            help="Always allow: choose a rule to save",
            run_key_action=lambda page: page.always_allow(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.whole",
            keys="alt+v",
            help="Show all details of the call",
            run_key_action=lambda page: page.show_details(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.approval.enter",
            keys="f8",
            help="Focus the approval question",
            run_key_action=lambda page: page.focus_approval_card(),
            takes_precedence=True,
        ),
        PageKey(
            id="app.permissions.cycle",
            keys="alt+m",
            help="Next permission mode",
            run_key_action=lambda page: page.cycle_mode(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription[ApprovalQuestionQueue]] = (
        FeatureSubscription(("approval",), lambda page, event: page.handle_event(event)),
    )

    def page(self, screen: FeatureServices) -> ApprovalQuestionQueue:
        session = screen.session
        return ApprovalQuestionQueue(
            session.permissions,
            screen.approval_bar,
            screen.editor,
            preview_call=session.previews.preview_call,
            has_preview=session.previews.has_preview,
            spawn=screen.tasks.spawn,
            screens=screen.screens,
            show_screen=screen.ask,
            show_message=screen.show_message,
            show_temporary_text=screen.status.show_temporary_status,
            notify_waiting=screen.notify_waiting,
            key_label=screen.key_label,
            reports_alt_separately=screen.reports_alt_separately,
            is_busy=lambda: session.state.is_busy,
            review_page=lambda: screen.page(REVIEW_FEATURE),
        )


class PermissionsFeature(TuiFeature["PermissionsPage"]):
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
            screen.session.permissions, screen.ask, screen.show_message, screen.save_default_setting
        )


class ExtraFoldersFeature(TuiFeature["ExtraFoldersPage"]):
    slash_commands: Sequence[SlashCommand["ExtraFoldersPage"]] = (
        SlashCommand(
            name="add-dir",
            hint="[folder]",
            help="add a working folder; list or remove added ones",
            run=lambda page, text: page.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "ExtraFoldersPage":
        from app.tui.features.permissions.page import ExtraFoldersPage  # noqa: PLC0415  (when it is first used)

        return ExtraFoldersPage(screen.session.folders, screen.ask, screen.show_message)


class SecretsFeature(TuiFeature["MaskedSecretsPage"]):
    slash_commands: Sequence[SlashCommand["MaskedSecretsPage"]] = (
        SlashCommand(name="secrets", session_command="get_secrets", run=lambda page, _: page.open()),
        SlashCommand(name="unmask", session_command="unmask", run=lambda page, _: page.unmask()),
    )

    def page(self, screen: FeatureServices) -> "MaskedSecretsPage":
        from app.tui.features.permissions.secrets import MaskedSecretsPage  # noqa: PLC0415  (when it is first used)

        return MaskedSecretsPage(
            screen.session.secrets, screen.session.resend_unmasked, screen.ask, screen.show_message
        )


APPROVALS_FEATURE = ApprovalsFeature()
PERMISSIONS_FEATURE = PermissionsFeature()
EXTRA_FOLDERS_FEATURE = ExtraFoldersFeature()
SECRETS_FEATURE = SecretsFeature()
TUI_FEATURES = (
    APPROVALS_FEATURE,
    PERMISSIONS_FEATURE,
    EXTRA_FOLDERS_FEATURE,
    SECRETS_FEATURE,
)
