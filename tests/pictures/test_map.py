"""The map of the repository, and going from names of the transcript."""

from app.providers.scripted import ScriptedModel, say
from app.tui.features.map.screen import RepositoryMapScreen, SourcePlacesScreen
from tests.support.photographs import Photographs
from tests.support.screens import Screen


async def test_the_map_of_the_repository(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel([say("`launch` puts a `Boat` into the water.")])
    async with photographs.of(screen.app(theme=photographs.theme, script=script)) as tour:
        await tour.say("how does a boat get there?")
        await tour.idle()
        await tour.say("/map")
        await tour.until(lambda: isinstance(tour.app.screen, RepositoryMapScreen))
        await tour.until(lambda: not tour.app.session.repository.is_incomplete)
        await tour.photograph("map")
        await tour.press("right")
        await tour.until("▾ boats/")
        await tour.press("down", "down", "right")
        await tour.until("class Boat")
        await tour.photograph("map-unfolded")
        await tour.photograph_small("map-unfolded")
        await tour.photograph_small("map-unfolded", (120, 40))
        await tour.press(*"Boat")
        await tour.until("best match first")
        await tour.photograph("map-found")
        await tour.until("class Boat")
        await tour.press("down", "ctrl+r")
        await tour.until(lambda: isinstance(tour.app.screen, SourcePlacesScreen))
        await tour.photograph("uses")
        await tour.press("escape", "escape", "escape")
        tour.app.transcript.focus()
        await tour.press("G", "d")
        await tour.until("Definition of")
        await tour.photograph("names")
        await tour.press("escape", "escape")
