"""What loaded extensions add to the page: how things look, and keys."""

from app.assembly.extending import Extended
from app.tui.stage import Stage
from widgets.textual_inside import bindings_of


def adopt(app: Stage, extended: Extended) -> None:
    """After extensions were loaded, the first time and after every reload."""
    app.extended = extended
    app.presenter.show_renderers(extended.wiring.catalogue)
    _bind_shortcuts(app, extended)


def _bind_shortcuts(app: Stage, extended: Extended) -> None:
    """Keys that nothing of bayou's has; those of extensions that are gone are taken back."""
    bound = bindings_of(app)
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith("extension_key(") for binding in bindings):
            del bound[key]
    taken = [key for own in (app, app.editor, app.transcript) for key in bindings_of(own)]
    for key, shortcut in extended.wiring.catalogue.shortcuts(taken).items():
        app.bind(key, f"extension_key({key!r})", description=shortcut.description or shortcut.key)
