"""Collects bayou's own tools: those of `tools.tool_registry`, those that act on the session, and one that depends
on a setting."""

from collections.abc import Mapping

from app.engine.core.model_choice import ModelChoice
from app.engine.core.toolbox import Toolbox
from app.engine.helpers.task_tool import task_tool
from app.engine.jobs.jobs_tool import jobs_tool
from app.engine.models.prompt_sources import SystemPromptSource
from app.engine.models.provider_search import ProviderWebSearch
from app.engine.planning.planning_tools import make_propose_plan_tool, make_todo_tool
from app.engine.questions.ask_tool import ask_tool
from app.engine.questions.remember_tool import remember_tool
from app.engine.session import Session
from app.providers.credentials import Credentials
from app.resources.context_files import AppendableContextFile, appendable_context_files
from app.resources.helper_kinds import HelperAgentKind
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings
from app.values.models import Model
from app.web.web_access import read_web_access_settings
from app.web.web_fetch_tool import make_web_fetch_tool
from app.web.web_search_results import WebSearchEngine
from app.web.web_search_services import SearchServiceEngine
from app.web.web_search_tool import WEB_SEARCH_TOOL_NAME, make_web_search_tool
from tools.builtin.mermaid import make_mermaid_tool
from tools.tool_definition import Tool
from tools.tool_registry import builtin_tools


def session_tools(
    session: Session,
    toolbox: Toolbox,
    effective_settings: EffectiveSettings,
    choice: ModelChoice,
    prompt: SystemPromptSource,
) -> tuple[Tool, ...]:
    todo = make_todo_tool(lambda: session.todos.phases, session.todos.apply_change)
    mermaid = make_mermaid_tool()
    task = task_tool(session.helpers)
    fetch = make_web_fetch_tool(lambda: read_web_access_settings(effective_settings.settings))
    remember = _remember_tool(session, prompt)

    def engine() -> WebSearchEngine | None:
        return choose_web_search_engine(
            session.provider_search, effective_settings.settings, choice.credentials
        )

    search = make_web_search_tool(engine)

    def unwanted(tools: Mapping[str, Tool]) -> list[str]:
        """Returns the tools to withhold from the model, compared by identity, so that an extension's tool of the
        same name stays."""
        kept = [] if _offers_todo_tool(effective_settings, choice.model) else [todo]
        kept += [] if effective_settings.settings.render_mermaid.enabled else [mermaid]
        kept += (
            [fetch]
            if effective_settings.settings.network.offline or not effective_settings.settings.web.fetch
            else []
        )
        kept += [] if engine() is not None else [search]
        kept += [] if effective_settings.settings.task.enabled else [task]
        return [tool.name for tool in kept if tools.get(tool.name) is tool]

    toolbox.add_withhold_rule(unwanted)
    ask, plan = ask_tool(session.forms), make_propose_plan_tool(session.plan.ask_to_accept_plan)
    return (
        *builtin_tools(),
        jobs_tool(session.jobs),
        todo,
        plan,
        ask,
        task,
        mermaid,
        fetch,
        search,
        remember,
    )


def choose_web_search_engine(
    provider: ProviderWebSearch, settings: Settings, credentials: Credentials
) -> WebSearchEngine | None:
    """Returns the web search engine: the service that the user has named, else the provider's own search, if
    there is one."""
    name = settings.web.search
    if settings.network.offline or name == "off":
        return None
    if name == "provider":
        return provider if provider.is_supported else None
    return (
        SearchServiceEngine(name, settings, credentials.resolve_credential)
        if credentials.has_credential(name)
        else None
    )


def tools_for_helper(
    helper: Session, kind: HelperAgentKind, parent: Toolbox, settings: Settings, credentials: Credentials
) -> tuple[Tool, ...]:
    """Returns the parent's active tools that a kind of helper agent may use. The helper searches the web with
    its own model and limits."""
    active: Mapping[str, Tool] = parent.active_tools()
    tools = [
        tool
        for tool in parent.all_tools()
        if tool.name in active
        and tool.is_for_helpers
        and (kind.tools is None or tool.name in kind.tools)
        and (tool.is_read_only or not kind.is_read_only)
    ]

    def engine() -> WebSearchEngine | None:
        return choose_web_search_engine(helper.provider_search, settings, credentials)

    own = active.get(WEB_SEARCH_TOOL_NAME)
    is_of_kind = kind.tools is None or WEB_SEARCH_TOOL_NAME in kind.tools
    is_wanted = is_of_kind and own is not None and not own.is_for_helpers
    return (*tools, make_web_search_tool(engine)) if is_wanted and engine() is not None else tuple(tools)


def _remember_tool(session: Session, prompt: SystemPromptSource) -> Tool:
    async def add(file: AppendableContextFile, line: str) -> str:
        dated = await session.memory.add_note(file, line, prompt.paths)
        prompt.reload_files()
        return dated

    return remember_tool(session.forms, lambda: appendable_context_files(prompt.paths), add)


def _offers_todo_tool(effective_settings: EffectiveSettings, model: Model | None) -> bool:
    """Whether to offer the todo tool: with `auto`, for models that do not plan by themselves."""
    wanted = effective_settings.settings.todo.enabled
    if wanted == "auto":
        return model is None or not (model.compat or {}).get("plansByItself")
    return wanted == "on"
