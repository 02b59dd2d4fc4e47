"""The settings of a session that a client shows: permission mode, model and thinking level."""

from collections.abc import Sequence

import msgspec

from app.engine.session import Session
from app.modes.acp.request_errors import make_invalid_params_error
from app.modes.acp.request_results import AcpSessionMode, AcpSessionModes
from app.modes.acp.update_messages import SessionConfigOption, SessionOptionValue, SessionOptionValueGroup
from app.permits.permission_decisions import PermissionMode
from app.values.models import Model, thinking_level
from app.values.wire import convert

MODE, MODEL, THINKING = "mode", "model", "thinking"
PLAN_MODE_ID = "plan"
_MAX_OFFERED_MODELS = 200
_PERMISSION_MODE_DESCRIPTIONS: dict[str, tuple[str, str]] = {
    "read-only": ("Read only", "Runs read-only commands; refuses edits and everything else."),
    "ask": ("Ask", "Reads freely; asks before each command and change."),
    "auto-edit": ("Auto edit", "Works in the project folder without asking; asks before dangerous commands."),
    "full": ("Full access", "Works without asking; asks only before what is dangerous."),
    PLAN_MODE_ID: ("Plan", "Only reads, and proposes a plan for you to accept."),
}


def current_acp_mode(session: Session) -> str:
    return PLAN_MODE_ID if session.state.is_planning else session.state.permission_mode


def acp_session_modes(session: Session) -> AcpSessionModes:
    return AcpSessionModes(
        current_mode_id=current_acp_mode(session),
        available_modes=[
            AcpSessionMode(id=mode, name=name, description=told)
            for mode, (name, told) in _PERMISSION_MODE_DESCRIPTIONS.items()
        ],
    )


def session_options(session: Session) -> list[SessionConfigOption]:
    """Returns all options with their present values."""
    state = session.state
    found = [
        SessionConfigOption(
            id=MODE,
            name="Permissions",
            description="What runs without approval",
            category="mode",
            current_value=current_acp_mode(session),
            options=[
                SessionOptionValue(value=mode, name=name, description=told)
                for mode, (name, told) in _PERMISSION_MODE_DESCRIPTIONS.items()
            ],
        )
    ]
    if state.model is not None:
        found.append(_model_option(session, state.model))
        if len(state.thinking_levels) > 1:
            found.append(
                SessionConfigOption(
                    id=THINKING,
                    name="Thinking",
                    description="How much the model thinks",
                    category="thought_level",
                    current_value=state.thinking,
                    options=[SessionOptionValue(value=level, name=level) for level in state.thinking_levels],
                )
            )
    return found


async def set_option(session: Session, option: str, value: object) -> None:
    """Sets an option. Raises an `AcpRequestError` or `UserError` with the reason."""
    if not isinstance(value, str):
        raise make_invalid_params_error(f"the value of option {option} must be a string")
    match option:
        case "mode":
            set_mode(session, value)
        case "model":
            await use_model(session, value)
        case "thinking":
            level = thinking_level(value)
            if level is None or level not in session.state.thinking_levels:
                raise make_invalid_params_error(
                    f"there is no thinking level {value}; there are: {', '.join(session.state.thinking_levels)}"
                )
            await session.models.use_thinking_level(level)
        case _:
            raise make_invalid_params_error(
                f"there is no option {option}; there are: {MODE}, {MODEL}, {THINKING}"
            )


def set_mode(session: Session, mode: str) -> None:
    if mode == PLAN_MODE_ID:
        session.plan.set_active(True)
        return
    try:
        known: PermissionMode = convert(mode, PermissionMode)
    except msgspec.ValidationError:
        raise make_invalid_params_error(
            f"there is no mode {mode}; there are: {', '.join(_PERMISSION_MODE_DESCRIPTIONS)}"
        ) from None
    session.plan.set_active(False)
    session.permissions.rules.set_mode(known)


async def use_model(session: Session, key: str) -> None:
    provider, _, model_id = key.partition("/")
    session.models.reread_models_file()
    await session.models.use_model(session.models.model_choice.find_model(provider, model_id))


def _model_option(session: Session, current: Model) -> SessionConfigOption:
    available = list(session.models.model_choice.available_models())
    if all(model.key != current.key for model in available):
        available.insert(0, current)
    available.sort(key=lambda model: (model.provider != current.provider, model.provider))
    shown = available[:_MAX_OFFERED_MODELS]
    if all(model.key != current.key for model in shown):
        shown[-1] = current
    return SessionConfigOption(
        id=MODEL,
        name="Model",
        category="model",
        current_value=current.key,
        options=[
            SessionOptionValueGroup(
                group=provider,
                name=provider,
                options=[
                    SessionOptionValue(value=model.key, name=model.name)
                    for model in shown
                    if model.provider == provider
                ],
            )
            for provider in _provider_ids(shown)
        ],
    )


def _provider_ids(models: Sequence[Model]) -> list[str]:
    return list(dict.fromkeys(model.provider for model in models))
