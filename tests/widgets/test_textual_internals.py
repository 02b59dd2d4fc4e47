"""The private names and signatures of Textual 8.2.8 and Rich that `widgets.textual_internals` uses.

When one of these fails after an upgrade, that is where Textual has moved under us; the reason for each reach is beside
it in the module.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual._parser import Parser
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.binding import BindingsMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget, _RenderCache

from widgets import textual_internals as textual_inside

PINNED = "8.2.8"
SIGNATURES: dict[Callable[..., object], str] = {
    Widget._size_updated: "(self, size, virtual_size, container_size, layout=True)",
    Widget._scroll_update: "(self, virtual_size)",
    Widget._render_content: "(self)",
    Widget._exchange_repaint_regions: "(self)",
    Widget.set_reactive: "(self, reactive, value)",
    App._start_widget: "(self, parent, widget)",
    App._display: "(self, screen, renderable)",
    App._handle_exception: "(self, error)",
    Screen._compositor_refresh: "(self)",
    Screen._on_timer_update: "(self)",
    Screen._screen_resized: "(self, size)",
    StylesCache.render_line: (
        "(self, styles, y, size, content_size, padding, base_background, background, render_content_line, "
        "border_title, border_subtitle, opacity, ansi_theme, native_ansi)"
    ),
    ScrollBar.__init__: "(self, vertical=True, name=None, *, thickness=1)",
    Compositor._get_renders: "(self, crop=None)",
    ChopsUpdate.__init__: "(self, chops, spans, chop_ends)",
    LayoutUpdate.__init__: "(self, strips, region)",
    CompositorUpdate.render_segments: "(self, console)",
    XTermParser.__init__: "(self, debug=False)",
    XTermParser.feed: "(self, data)",
    XTermParser.tick: "(self)",
    LinuxDriver.run_input_thread: "(self)",
    LinuxDriver.__init__: "(self, app, *, debug=False, mouse=True, size=None)",
    Stylesheet._parse_rules: "(self, css, read_from, is_default_rules=False, tie_breaker=0, scope='')",
    Stylesheet._process_component_classes: "(self, node)",
    DOMNode._get_component_classes: "()",
    DOMNode._attach: "(self, parent)",
}
"""What is called or overridden. Of a cached row's arguments `BareRows` takes the second and the eighth."""


def words(function: Callable[..., object]) -> str:
    """Its signature without types."""
    signature = inspect.signature(function)
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty)).replace(" = ", "=")


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_what_is_called_or_overridden_takes_what_it_took(function: Callable[..., object]):
    assert words(function) == SIGNATURES[function]


def test_it_is_the_textual_that_this_was_written_for():
    assert version("textual") == PINNED, (
        "Look through widgets/textual_internals.py, then write the new version here."
    )


NAMES: dict[type, tuple[str, ...]] = {
    Widget: ("_vertical_scrollbar", "_dirty_regions", "_styles_cache", "_render_cache"),
    Screen: ("_compositor", "_modal_binding_chain"),
    Compositor: ("_dirty_regions", "size", "visible_widgets"),
    App: ("_driver", "_keymap", "_background_screens"),
    DOMNode: ("_bindings", "_component_styles"),
    BindingsMap: ("key_to_bindings",),
    LinuxDriver: ("_file", "attrs_before", "exit_event", "fileno"),
    Stylesheet: ("source",),
    Strip: ("_render_cache",),
    Parser: ("_timeout_time",),
    ChopsUpdate: ("chops", "spans", "chop_ends"),
    LayoutUpdate: ("strips", "region"),
}
"""What is read or set, where it is defined."""


@pytest.mark.parametrize(
    ("owner", "name"),
    [(owner, name) for owner, names in NAMES.items() for name in names],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_what_is_read_or_set_is_there(owner: type, name: str):
    assert name in vars(owner) or name in _set_in(owner)


@cache
def _set_in(owner: type) -> set[str]:
    """The attributes that a class gives its instances."""
    source = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    return {
        node.attr
        for node in ast.walk(source)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_scrolling_is_reactive():
    """So that it can be set without telling anybody."""
    for name in ("scroll_y", "scroll_target_y", "virtual_size"):
        assert isinstance(vars(Widget)[name], Reactive)


def test_the_driver_s_thread_calls_what_we_put_in_its_place():
    assert "self.run_input_thread()" in inspect.getsource(LinuxDriver)


def test_a_screen_asks_its_binding_chain_for_pairs_of_node_and_bindings():
    assert "BindingsMap" in str(inspect.signature(Screen._modal_binding_chain.fget))  # type: ignore[attr-defined]


def test_a_cache_of_rows_is_made_from_a_size_and_lines():
    assert _RenderCache._fields == ("size", "lines")


def test_every_reach_says_which_change_of_textual_would_end_it():
    source = Path(textual_inside.__file__).read_text(encoding="utf-8")
    silent: list[str] = []
    for section in source.split("\n# -- ")[1:]:
        if "this goes with" in " ".join(section.partition("\n\n\n")[0].replace("#", " ").split()):
            continue  # said of all that stands there
        silent += [
            node.name
            for node in ast.parse("# " + section).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and "Goes with" not in (ast.get_docstring(node) or "")
        ]
    assert silent == []
