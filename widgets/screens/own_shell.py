"""What commands have of a person's shell, as a list to look at."""

from typing import ClassVar

from textual.binding import BindingType

from widgets.screens.picker import PickerAction, PickerScreen, bindings_of

AGAIN = PickerAction(
    id="app.ownShell.again", keys="ctrl+r", label="take anew", closes=False, needs_row=False, importance=7
)


class OwnShellScreen(PickerScreen):
    """Enter shows a definition whole."""

    ACTIONS = (AGAIN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
