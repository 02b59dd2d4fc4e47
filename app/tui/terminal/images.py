"""Creates the image support of the application's terminal according to the settings."""

from collections.abc import Callable, Mapping
from typing import Any

from textual.app import App

from app.resources.settings.effective_settings import EffectiveSettings
from widgets.graphics.image_support import ImageSupport
from widgets.graphics.terminal_images import TerminalImages
from widgets.terminal.terminal_control import write_to
from widgets.transcript.painting.sgr import color_system


def images_for(
    app: App[Any],
    effective_settings: EffectiveSettings,
    env: Mapping[str, str],
    find_program: Callable[[str], str | None],
) -> TerminalImages:
    ability = ImageSupport(
        effective_settings.settings.images.protocol,
        env=env,
        find_program=find_program,
        color_system=lambda: color_system(app.console),
    )
    images = TerminalImages(lambda sequence: write_to(app, sequence), ability, lines=lambda: app.size.height)
    effective_settings.subscribe(lambda before: images.use(effective_settings.settings.images.protocol))
    return images
