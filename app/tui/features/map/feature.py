"""The feature for the repository map, and for sending parts of it to the model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.slash_commands import SlashCommand
from app.values.messages import CustomMessage
from widgets.transcript.blocks import NoteKind
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.features.map.map_sender import MapSender
    from app.tui.features.map.page import MapPage


class MapFeature(Feature["MapPage"]):
    subscriptions: Sequence[Subscription["MapPage"]] = (
        Subscription(
            (Transcript.NamesRequested,),
            lambda page, message: page.go_to_name_in(message.text, uses=message.uses),
        ),
    )

    def page(self, screen: FeatureServices) -> "MapPage":
        from app.tui.features.map.page import MapPage  # noqa: PLC0415  (when it is first used)

        def open_file(path: str, line: int) -> None:
            if problem := screen.edit_file(screen.session.cwd / path, line):
                screen.show_message(problem, NoteKind.ERROR)

        return MapPage(
            screen.session.repository,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.copy,
            cwd=lambda: screen.session.cwd,
            open_file=open_file,
        )


class SendMapFeature(Feature["MapSender"]):
    slash_commands: Sequence[SlashCommand["MapSender"]] = (
        SlashCommand(
            name="map",
            hint="[path]",
            help="outline of the repository, a file or a folder",
            run=lambda page, text: page.run_map_command(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "MapSender":
        from app.tui.features.map.map_sender import MapSender  # noqa: PLC0415  (when it is first used)

        def steer(message: CustomMessage) -> None:
            screen.tasks.spawn(screen.session.send(message, deliver_as="steer"))

        return MapSender(
            screen.session.repository,
            screen.ask,
            screen.show_message,
            cwd=lambda: screen.session.cwd,
            send=steer,
            send_outline=lambda path: screen.session.prompt(f"/map {path}"),
            permissions=screen.session.permissions,
            open_map=screen.page(MAP).open,
        )


MAP = MapFeature()
SEND_MAP = SendMapFeature()
FEATURES = (
    MAP,
    SEND_MAP,
)
