"""The settings of a session that a client shows: permission mode, model and thinking level."""

from collections.abc import Sequence

import msgspec

from app.engine.session import Session
from app.modes.acp.faults import invalid
from app.modes.acp.responses import Mode, Modes
from app.modes.acp.update_values import Choice, ChoiceGroup, Option
from app.permits.permission_decisions import PermissionMode
from app.values.models import Model, thinking_level

MODE, MODEL, THINKING = "mode", "model", "thinking"
PLAN = "plan"
_MOST_MODELS = 200
_MODES: dict[str, tuple[str, str]] = {
    "read-only": ("Read only", "Nothing changes: commands and edits are refused."),
    "ask": ("Ask", "Reads freely; asks before each command and change."),
    "auto-edit": ("Auto edit", "Works in the project folder without asking; asks before what is dangerous."),
    "full": ("Full access", "Works without asking; asks only before what is dangerous."),
    PLAN: ("Plan", "Only reads, and proposes a plan for you to accept."),
}


def current_mode(session: Session) -> str:
    return PLAN if session.state.is_planning else session.state.permission_mode


def modes_of(session: Session) -> Modes:
    return Modes(
        current_mode_id=current_mode(session),
        available_modes=[Mode(id=mode, name=name, description=told) for mode, (name, told) in _MODES.items()],
    )


def options_of(session: Session) -> list[Option]:
    """Returns all options with their present values."""
    state = session.state
    found = [
        Option(
            id=MODE,
            name="Permissions",
            description="What runs without a question",
            category="mode",
            current_value=current_mode(session),
            options=[
                Choice(value=mode, name=name, description=told) for mode, (name, told) in _MODES.items()
            ],
        )
    ]
    if state.model is not None:
        found.append(_models(session, state.model))
        if len(state.levels) > 1:
            found.append(
                Option(
                    id=THINKING,
                    name="Thinking",
                    description="How hard the model thinks",
                    category="thought_level",
                    current_value=state.thinking,
                    options=[Choice(value=level, name=level) for level in state.levels],
                )
            )
    return found


async def set_option(session: Session, option: str, value: object) -> None:
    """Sets an option. Raises a `RequestError` or `UserError` with the reason."""
    if not isinstance(value, str):
        raise invalid(f"the option {option} takes a text")
    match option:
        case "mode":
            set_mode(session, value)
        case "model":
            await use_model(session, value)
        case "thinking":
            level = thinking_level(value)
            if level is None or level not in session.state.levels:
                raise invalid(
                    f"there is no thinking level {value}; there are: {', '.join(session.state.levels)}"
                )
            await session.models.use_thinking(level)
        case _:
            raise invalid(f"there is no option {option}; there are: {MODE}, {MODEL}, {THINKING}")


def set_mode(session: Session, mode: str) -> None:
    if mode == PLAN:
        session.plan.switch(True)
        return
    try:
        known = msgspec.convert(mode, PermissionMode)
    except msgspec.ValidationError:
        raise invalid(f"there is no mode {mode}; there are: {', '.join(_MODES)}") from None
    session.plan.switch(False)
    session.permissions.rules.set_mode(known)


async def use_model(session: Session, key: str) -> None:
    provider, _, model_id = key.partition("/")
    session.models.reread()
    await session.models.use(session.models.choice.find(provider, model_id))


def _models(session: Session, current: Model) -> Option:
    available = list(session.models.choice.available())
    if all(model.key != current.key for model in available):
        available.insert(0, current)
    available.sort(key=lambda model: (model.provider != current.provider, model.provider))
    shown = available[:_MOST_MODELS]
    if all(model.key != current.key for model in shown):
        shown[-1] = current
    return Option(
        id=MODEL,
        name="Model",
        category="model",
        current_value=current.key,
        options=[
            ChoiceGroup(
                group=provider,
                name=provider,
                options=[
                    Choice(value=model.key, name=model.name) for model in shown if model.provider == provider
                ],
            )
            for provider in _providers(shown)
        ],
    )


def _providers(models: Sequence[Model]) -> list[str]:
    return list(dict.fromkeys(model.provider for model in models))
