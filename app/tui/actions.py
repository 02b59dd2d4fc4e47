"""Everything that can be done, by name: key actions and slash commands, for the palette and the help."""

from typing import TYPE_CHECKING

from app.tui.slash import COMMANDS

if TYPE_CHECKING:
    from app.tui.app import BayouApp


def key_actions(app: "BayouApp") -> list[tuple[str, str, str]]:
    """Key, action and description of everything that can be pressed on the page, as it is in force now."""
    return [
        (binding.key_display or key, binding.action, binding.description)
        for bindings in (app._bindings, app.editor._bindings, app.transcript._bindings)
        for key, binding in bindings
        if binding.description
    ]


def key_table(app: "BayouApp") -> str:
    rows = [(key, text) for key, _, text in key_actions(app)]
    width = max(len(key) for key, _ in rows)
    return "\n".join(f"{key:<{width}}  {text}" for key, text in rows)


def command_names(app: "BayouApp") -> list[tuple[str, str]]:
    """Slash commands: bayou's, then extensions' and skills'."""
    names = [(command.name, command.help) for command in COMMANDS]
    if app.extended is not None:
        own = [command.name for command in COMMANDS]
        offered = app.extended.wiring.catalogue.commands(own)
        names += [(name, command.description) for name, command in offered.items()]
    skills = app.assembled.prompt.skills.skills
    return names + [(f"skill:{skill.name}", skill.description) for skill in skills]
