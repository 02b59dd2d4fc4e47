"""Collects bayou's own tools: those of `tools.registry`, those that act on the session, and one that depends
on a setting."""

import os
from collections.abc import Mapping

import msgspec

from app.engine.core.model_choice import ModelChoice
from app.engine.core.toolbox import Toolbox
from app.engine.helpers.task_tool import task_tool
from app.engine.jobs.jobs_tool import jobs_tool
from app.engine.models.prompt_sources import SystemPromptSource
from app.engine.planning.planning_tools import plan_tool, todo_tool
from app.engine.questions.ask_tool import ask_tool
from app.engine.questions.remember_tool import remember_tool
from app.engine.session import Session
from app.providers.credentials import Credentials
from app.resources.context_files import MemoryFile, memory_files
from app.resources.settings.effective_settings import EffectiveSettings
from app.values.models import Model
from app.values.user_errors import UserError
from app.web.access import WebAccess
from app.web.fetch_tool import fetch_tool
from app.web.search_tool import SearchChoice, search_tool
from tools.base import Tool, ToolError
from tools.builtin.mermaid import mermaid_tool
from tools.registry import builtin_tools


def own_tools(
    session: Session,
    toolbox: Toolbox,
    effective_settings: EffectiveSettings,
    choice: ModelChoice,
    prompt: SystemPromptSource,
) -> tuple[Tool, ...]:
    todo = todo_tool(lambda: session.todos.phases, session.todos.change)
    mermaid = mermaid_tool()
    task = task_tool(session.helpers)
    fetch = fetch_tool(lambda: _web_settings(effective_settings))
    remember = _remember_tool(session, prompt)
    keys = SearchKeys(choice.credentials)
    search = search_tool(
        lambda: _web_settings(effective_settings), lambda: _search_choice(effective_settings), keys.key
    )

    def unwanted(tools: Mapping[str, Tool]) -> list[str]:
        """Lists the tools to withhold. Compares by identity: a tool of an extension with the same
        name stays."""
        kept = [] if _offers_todos(effective_settings, choice.model) else [todo]
        kept += [] if effective_settings.settings.render_mermaid.enabled else [mermaid]
        kept += (
            [fetch]
            if effective_settings.settings.network.offline or not effective_settings.settings.web.fetch
            else []
        )
        service = _search_choice(effective_settings)
        is_offline = effective_settings.settings.network.offline
        kept += [] if service is not None and keys.has(service) and not is_offline else [search]
        kept += [] if effective_settings.settings.task.enabled else [task]
        return [tool.name for tool in kept if tools.get(tool.name) is tool]

    toolbox.withhold(unwanted)
    ask, plan = ask_tool(session.forms), plan_tool(session.plan.propose)
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


def _remember_tool(session: Session, prompt: SystemPromptSource) -> Tool:
    async def add(file: MemoryFile, line: str) -> str:
        dated = await session.memory.add(file, line, prompt.paths)
        prompt.reload()
        return dated

    return remember_tool(session.forms, lambda: memory_files(prompt.paths), add)


def _web_settings(effective_settings: EffectiveSettings) -> WebAccess:
    settings = effective_settings.settings
    return WebAccess(
        private_hosts=settings.web.private_hosts,
        allows_http=settings.web.allow_http,
        proxy=settings.network.http_proxy,
    )


def _search_choice(effective_settings: EffectiveSettings) -> SearchChoice | None:
    web = effective_settings.settings.web
    return None if web.search == "off" else SearchChoice(name=web.search, url=web.search_url)


class SearchKeys(msgspec.Struct, frozen=True):
    """The keys of search services: of the environment, else of auth.json."""

    credentials: Credentials

    def has(self, choice: SearchChoice) -> bool:
        return bool(os.environ.get(choice.service.key_variable)) or self.credentials.has(choice.name)

    async def key(self, choice: SearchChoice) -> str | None:
        if key := os.environ.get(choice.service.key_variable):
            return key
        try:
            credential = await self.credentials.resolve(choice.name)
        except UserError as problem:
            raise ToolError(str(problem)) from None
        return credential.key if credential is not None else None


def _offers_todos(effective_settings: EffectiveSettings, model: Model | None) -> bool:
    """Whether to offer the todo tool: with `auto`, for models that do not plan by themselves."""
    wanted = effective_settings.settings.todo.enabled
    if wanted == "auto":
        return model is None or not (model.compat or {}).get("plansByItself")
    return wanted == "on"
