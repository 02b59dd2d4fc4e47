"""Permissions: approvals, modes and rules, the sandbox, secrets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.permissions.approvals import Approvals
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.permissions.page import FoldersPage, PermissionsPage
    from app.tui.features.permissions.secrets import SecretsPage


class ApprovalsFeature(Feature[Approvals]):
    keys: Sequence[PageKey[Approvals]] = (
        PageKey(
            id="app.approval.once",
            keys="alt+a",
            help="Let what is asked about run, this once",
            do=lambda page: page.once(),
            is_first=True,
        ),
        PageKey(
            id="app.approval.deny",
            keys="alt+x",
            help="Not; words in the editor go along as the reason",
            do=lambda page: page.deny(),
            is_first=True,
        ),
        PageKey(
            id="app.approval.always",
            keys="alt+w",
            help="A rule that would answer this question from now on",
            do=lambda page: page.always(),
            is_first=True,
        ),
        PageKey(
            id="app.approval.whole",
            keys="alt+v",
            help="All of what is asked about",
            do=lambda page: page.whole(),
            is_first=True,
        ),
        PageKey(
            id="app.approval.enter",
            keys="f8",
            help="Go into the question",
            do=lambda page: page.enter(),
            is_first=True,
        ),
        PageKey(
            id="app.permissions.cycle",
            keys="alt+m",
            help="The next permission mode",
            do=lambda page: page.cycle_mode(),
        ),
    )
    subscriptions: Sequence[Subscription[Approvals]] = (
        Subscription(("approval",), lambda page, event: page.note(event)),
    )

    def page(self, screen: FeatureServices) -> Approvals:
        session = screen.session
        return Approvals(
            session.permissions,
            screen.approval_bar,
            screen.editor,
            preview=session.previews.of,
            has_preview=session.previews.is_for,
            spawn=screen.tasks.spawn,
            screens=screen.screens,
            show_screen=screen.ask,
            say=screen.say,
            tell=screen.status.tell,
            told=screen.told,
            key_label=screen.key_label,
            is_busy=lambda: session.state.is_busy,
        )


class PermissionsFeature(Feature["PermissionsPage"]):
    slash: Sequence[SlashCommand["PermissionsPage"]] = (
        SlashCommand(
            name="permissions",
            hint="[mode]",
            help="permission mode, rules and recent decisions",
            run=lambda page, text: page.open(text),
        ),
        SlashCommand(
            name="sandbox",
            hint="[auto|off|required]",
            help="what commands can read, write and reach",
            run=lambda page, text: page.sandbox.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "PermissionsPage":
        from app.tui.features.permissions.page import PermissionsPage  # noqa: PLC0415  (when it is first used)

        return PermissionsPage(screen.session.permissions, screen.ask, screen.say, screen.keep)


class FoldersFeature(Feature["FoldersPage"]):
    slash: Sequence[SlashCommand["FoldersPage"]] = (
        SlashCommand(
            name="add-dir",
            hint="[folder]",
            help="work in another folder too; alone: list and remove",
            run=lambda page, text: page.open(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "FoldersPage":
        from app.tui.features.permissions.page import FoldersPage  # noqa: PLC0415  (when it is first used)

        return FoldersPage(screen.session.folders, screen.ask, screen.say)


class SecretsFeature(Feature["SecretsPage"]):
    slash: Sequence[SlashCommand["SecretsPage"]] = (
        SlashCommand(name="secrets", verb="get_secrets", run=lambda page, _: page.open()),
        SlashCommand(name="unmask", verb="unmask", run=lambda page, _: page.unmask()),
    )

    def page(self, screen: FeatureServices) -> "SecretsPage":
        from app.tui.features.permissions.secrets import SecretsPage  # noqa: PLC0415  (when it is first used)

        return SecretsPage(screen.session.secrets, screen.session.unmask, screen.ask, screen.say)


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
