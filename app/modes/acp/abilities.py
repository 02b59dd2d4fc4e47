"""Answers `initialize`: bayou's capabilities, and how a user signs in."""

from acp.schema import (
    AgentCapabilities,
    AuthEnvVar,
    AuthMethodAgent,
    EnvVarAuthMethod,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    McpCapabilities,
    PromptCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    TerminalAuthMethod,
)

from app.version import VERSION

PROTOCOL_VERSION = 1
_KEYS = (
    ("anthropic", "Anthropic", "ANTHROPIC_API_KEY"),
    ("openai", "OpenAI", "OPENAI_API_KEY"),
    ("google", "Google", "GEMINI_API_KEY"),
)


def answer_to_initialize(request: InitializeRequest) -> InitializeResponse:
    return InitializeResponse(
        protocol_version=PROTOCOL_VERSION,
        agent_info=Implementation(name="bayou", title="bayou", version=VERSION),
        agent_capabilities=AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
            mcp_capabilities=McpCapabilities(http=True, sse=True),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                resume=SessionResumeCapabilities(),
                fork=SessionForkCapabilities(),
                close=SessionCloseCapabilities(),
                delete=SessionDeleteCapabilities(),
            ),
        ),
        auth_methods=_ways_to_sign_in(request),
    )


def _ways_to_sign_in(
    request: InitializeRequest,
) -> list[EnvVarAuthMethod | TerminalAuthMethod | AuthMethodAgent]:
    """Returns a sign-in in a terminal, if the client can open one, and the key variables of the environment."""
    found: list[EnvVarAuthMethod | TerminalAuthMethod | AuthMethodAgent] = []
    capabilities = request.client_capabilities
    if capabilities is not None and capabilities.auth is not None and capabilities.auth.terminal:
        found.append(
            TerminalAuthMethod(
                type="terminal",
                id="login",
                name="Sign in",
                description="Choose a provider, and sign in with an account or a key",
                args=["--login"],
            )
        )
    for provider, name, variable in _KEYS:
        found.append(
            EnvVarAuthMethod(
                type="env_var",
                id=f"{provider}-key",
                name=f"{name} API key",
                vars=[AuthEnvVar(name=variable, label=f"{name} API key")],
            )
        )
    return found
