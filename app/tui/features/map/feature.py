"""The feature for the repository map, and for sending parts of it to the model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.slash_commands import SlashCommand
from app.values.messages import CustomMessage
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.features.map.map_sender import RepositoryMapSender
    from app.tui.features.map.page import RepositoryMapPage


class RepositoryMapFeature(TuiFeature["RepositoryMapPage"]):
    subscriptions: Sequence[FeatureSubscription["RepositoryMapPage"]] = (
        FeatureSubscription(
            (Transcript.NamesRequested,),
            lambda page, message: page.go_to_symbol_named_in(message.text, uses=message.uses),
        ),
    )

    def page(self, screen: FeatureServices) -> "RepositoryMapPage":
        from app.tui.features.map.page import RepositoryMapPage  # noqa: PLC0415  (when it is first used)

        def open_file(path: str, line: int) -> None:
            if problem := screen.edit_file(screen.session.cwd / path, line):
                screen.show_message(problem, AppNoteKind.ERROR)

        return RepositoryMapPage(
            screen.session.repository,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.copy,
            cwd=lambda: screen.session.cwd,
            open_file=open_file,
        )


class SendMapFeature(TuiFeature["RepositoryMapSender"]):
    slash_commands: Sequence[SlashCommand["RepositoryMapSender"]] = (
        SlashCommand(
            name="map",
            hint="[path]",
            help="outline of the repository, a file or a folder",
            run=lambda page, text: page.run_map_command(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "RepositoryMapSender":
        from app.tui.features.map.map_sender import RepositoryMapSender  # noqa: PLC0415  (when it is first used)

        def steer(message: CustomMessage) -> None:
            screen.tasks.spawn(screen.session.send(message, deliver_as="steer"))

        return RepositoryMapSender(
            screen.session.repository,
            screen.ask,
            screen.show_message,
            cwd=lambda: screen.session.cwd,
            send=steer,
            send_outline=lambda path: screen.session.prompt(f"/map {path}"),
            permissions=screen.session.permissions,
            open_map=screen.page(MAP_FEATURE).open,
        )


MAP_FEATURE = RepositoryMapFeature()
SEND_MAP_FEATURE = SendMapFeature()
TUI_FEATURES = (
    MAP_FEATURE,
    SEND_MAP_FEATURE,
)
