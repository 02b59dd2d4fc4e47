"""Models, thinking levels and credentials."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.page_keys import PageKey
from app.tui.slash import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.models.login import LoginPage
    from app.tui.features.models.page import ModelPage


async def _model(page: "ModelPage", argument: str) -> None:
    await (page.named(argument) if argument else page.choose())


async def _thinking(page: "ModelPage", argument: str) -> None:
    await (page.level_named(argument) if argument else page.level())


class LoginFeature(Feature["LoginPage"]):
    slash: Sequence[SlashCommand["LoginPage"]] = (
        SlashCommand(
            name="login",
            hint="[provider]",
            help="connect a provider: key or account",
            run=lambda page, text: page.connect(text),
        ),
        SlashCommand(
            name="logout",
            hint="[provider]",
            help="forget a stored key",
            run=lambda page, text: page.forget(text),
        ),
    )

    def page(self, screen: FeatureServices) -> "LoginPage":
        from app.providers.model_stream import StreamOptions  # noqa: PLC0415  (when it is first used)
        from app.providers.signin.key_check import KeyChecker  # noqa: PLC0415  (when it is first used)
        from app.tui.features.models.login import LoginPage  # noqa: PLC0415  (when it is first used)
        from app.tui.features.models.other_server import OtherServer  # noqa: PLC0415

        assembled, choice = screen.assembled, screen.assembled.choice

        def options() -> StreamOptions | None:
            network = assembled.effective_settings.settings.network
            return None if network.offline else StreamOptions(proxy=network.http_proxy)

        check = KeyChecker(choice.catalogue, assembled.registry, options)
        other_server = OtherServer(
            choice,
            screen.session.models.use,
            assembled.prompt.paths.agent_dir,
            options,
            screen.ask,
            screen.say,
        )
        return LoginPage(
            choice.credentials,
            lambda: choice.catalogue.providers,
            screen.ask,
            screen.say,
            check,
            other_server,
        )


class ModelsFeature(Feature["ModelPage"]):
    slash: Sequence[SlashCommand["ModelPage"]] = (
        SlashCommand(name="model", hint="[name]", verb="set_model", run=_model),
        SlashCommand(
            name="scoped-models",
            help="which models the cycle keys go through",
            run=lambda page, _: page.scope(),
        ),
        SlashCommand(name="thinking", hint="[level]", verb="set_thinking_level", run=_thinking),
    )
    keys: Sequence[PageKey["ModelPage"]] = (
        PageKey(
            id="app.model.select",
            keys="ctrl+l",
            help="Choose a model",
            do=lambda page: page.choose(),
        ),
        PageKey(
            id="app.model.cycleForward", keys="ctrl+p", verb="cycle_model", do=lambda page: page.cycle(1)
        ),
        PageKey(
            id="app.model.cycleBackward",
            keys="ctrl+shift+p",
            help="Previous model",
            do=lambda page: page.cycle(-1),
        ),
        PageKey(
            id="app.thinking.cycle",
            keys="shift+tab",
            verb="cycle_thinking_level",
            do=lambda page: page.cycle_level(),
            is_first=True,
        ),
    )

    def page(self, screen: FeatureServices) -> "ModelPage":
        from app.tui.features.models.page import ModelPage, look_up  # noqa: PLC0415  (when it is first used)

        assembled, choice = screen.assembled, screen.assembled.choice
        return ModelPage(
            screen.session,
            choice,
            screen.ask,
            screen.say,
            screen.keep,
            screen.key_label,
            connect=screen.page(LOGIN).connect,
            look_up=lambda provider: look_up(
                choice,
                provider,
                agent_dir=assembled.prompt.paths.agent_dir,
                proxy=assembled.effective_settings.settings.network.http_proxy,
            ),
        )


LOGIN = LoginFeature()
MODELS = ModelsFeature()
FEATURES = (
    LOGIN,
    MODELS,
)
