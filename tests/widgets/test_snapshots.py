"""Every screen and state as a picture, in two sizes, dark and light."""

from typing import Any

import pytest

from tests.widgets.gallery import SCENES, scene
from tests.widgets.host import SIZES, THEMES


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCENES)
def test_scene(name: str, size: str, theme: str, snap_compare: Any) -> None:
    assert snap_compare(scene(name, THEMES[theme]), terminal_size=SIZES[size])


@pytest.mark.parametrize("name", SCENES)
def test_scene_on_a_tiny_terminal(name: str, snap_compare: Any) -> None:
    assert snap_compare(scene(name, "bayou-dark"), terminal_size=(40, 10))


@pytest.mark.parametrize(
    "theme", ["ansi", "high-contrast", "nord", "gruvbox-dark", "catppuccin-mocha", "tokyo-night"]
)
def test_scene_in_other_themes(theme: str, snap_compare: Any) -> None:
    assert snap_compare(scene("picker", theme), terminal_size=(100, 24))
