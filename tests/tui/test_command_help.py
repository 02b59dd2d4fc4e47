"""The commands as lists tell them."""

from app.tui.feature_register import ALL_SLASH_COMMANDS


def test_command_descriptions_fit_beside_arguments() -> None:
    """On a page of 80 columns, with the scroll bar's column."""
    names = 2 + max(len(command.name) + 1 for command in ALL_SLASH_COMMANDS) + 2
    for command in ALL_SLASH_COMMANDS:
        beside = len(command.hint) + 2 if len(command.hint) < 40 else 0
        assert names + len(command.help_text(lambda action, usual: usual)) + beside <= 79, command.name
