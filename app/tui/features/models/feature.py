"""The feature for models, thinking levels and credentials."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.models.login import LoginPage
    from app.tui.features.models.page import ModelPage


async def _run_model_command(page: "ModelPage", argument: str) -> None:
    await (page.select_model_by_name(argument) if argument else page.choose_model())


async def _run_thinking_command(page: "ModelPage", argument: str) -> None:
    await (page.set_thinking_level_by_name(argument) if argument else page.choose_thinking_level())


class LoginFeature(TuiFeature["LoginPage"]):
    slash_commands: Sequence[SlashCommand["LoginPage"]] = (
        SlashCommand(
            name="login",
            hint="[provider]",
            help="connect a provider by key or account",
            run=lambda page, text: page.connect(text),
        ),
        SlashCommand(
            name="logout",
            hint="[provider]",
            help="remove a stored key or account",
            run=lambda page, text: page.remove_credential(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "LoginPage":
        from app.providers.model_stream import StreamOptions  # noqa: PLC0415  (when it is first used)
        from app.providers.signin.key_check import ApiKeyChecker  # noqa: PLC0415  (when it is first used)
        from app.tui.features.models.login import LoginPage  # noqa: PLC0415  (when it is first used)
        from app.tui.features.models.own_model_server import OwnModelServerSetup  # noqa: PLC0415

        assembled, choice = screen.assembled, screen.assembled.model_choice

        def options() -> StreamOptions | None:
            network = assembled.effective_settings.settings.network
            return None if network.offline else StreamOptions(proxy=network.http_proxy)

        check = ApiKeyChecker(choice.catalogue, assembled.registry, options)
        other_server = OwnModelServerSetup(
            choice,
            screen.session.models.use_model,
            assembled.prompt.paths.agent_dir,
            options,
            screen.ask,
            screen.show_message,
        )
        return LoginPage(
            choice.credentials,
            lambda: choice.catalogue.provider_ids,
            screen.ask,
            screen.show_message,
            check,
            other_server,
        )


class ModelsFeature(TuiFeature["ModelPage"]):
    slash_commands: Sequence[SlashCommand["ModelPage"]] = (
        SlashCommand(name="model", hint="[name]", session_command="set_model", run=_run_model_command),
        SlashCommand(
            name="scoped-models",
            help="choose the models that {key} cycles through",
            key=("app.model.cycleForward", "Ctrl+P"),
            run=lambda page, _: page.choose_cycled_models(),
        ),
        SlashCommand(
            name="thinking", hint="[level]", session_command="set_thinking_level", run=_run_thinking_command
        ),
    )
    keys: Sequence[PageKey["ModelPage"]] = (
        PageKey(
            id="app.model.select",
            slash_command="model",
            keys="ctrl+l",
            help="Choose a model",
            run_key_action=lambda page: page.choose_model(),
        ),
        PageKey(
            id="app.model.cycleForward",
            keys="ctrl+p",
            session_command="cycle_model",
            run_key_action=lambda page: page.cycle_model(1),
        ),
        PageKey(
            id="app.model.cycleBackward",
            keys="ctrl+shift+p",
            help="Previous model",
            run_key_action=lambda page: page.cycle_model(-1),
        ),
        PageKey(
            id="app.thinking.cycle",
            keys="shift+tab",
            session_command="cycle_thinking_level",
            run_key_action=lambda page: page.cycle_level(),
            takes_precedence=True,
        ),
    )

    def page(self, screen: FeatureServices) -> "ModelPage":
        from app.tui.features.models.page import ModelPage, query_provider_models  # noqa: PLC0415  (when it is first used)

        assembled, choice = screen.assembled, screen.assembled.model_choice
        return ModelPage(
            screen.session,
            choice,
            screen.ask,
            screen.show_message,
            screen.save_default_setting,
            screen.key_label,
            connect=screen.page(LOGIN_FEATURE).connect,
            query_models=lambda provider: query_provider_models(
                choice,
                provider,
                agent_dir=assembled.prompt.paths.agent_dir,
                proxy=assembled.effective_settings.settings.network.http_proxy,
            ),
        )


LOGIN_FEATURE = LoginFeature()
MODELS_FEATURE = ModelsFeature()
TUI_FEATURES = (
    LOGIN_FEATURE,
    MODELS_FEATURE,
)
