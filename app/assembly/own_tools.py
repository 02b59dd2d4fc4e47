"""The tools that bayou brings: those of `tools.registry`, those that act on the session itself, one of a setting."""

from collections.abc import Mapping

from app.engine.core.model_choice import ModelChoice
from app.engine.core.toolbox import Toolbox
from app.engine.jobs.jobs_tool import jobs_tool
from app.engine.planning.planning_tools import plan_tool, todo_tool
from app.engine.session import Session
from app.resources.settings.in_force import InForce
from app.values.models import Model
from tools.base import Tool
from tools.builtin.mermaid import mermaid_tool
from tools.registry import builtin_tools


def own_tools(session: Session, toolbox: Toolbox, in_force: InForce, choice: ModelChoice) -> tuple[Tool, ...]:
    todo = todo_tool(lambda: session.todos.phases, session.todos.change)
    mermaid = mermaid_tool()

    def unwanted(tools: Mapping[str, Tool]) -> list[str]:
        """Only of these very ones: another's of the same name is there because somebody wants it."""
        kept = [] if _wants_todos(in_force, choice.model) else [todo]
        kept += [] if in_force.settings.render_mermaid.enabled else [mermaid]
        return [tool.name for tool in kept if tools.get(tool.name) is tool]

    toolbox.withhold(unwanted)
    return (*builtin_tools(), jobs_tool(session.jobs), todo, plan_tool(session.plan.propose), mermaid)


def _wants_todos(in_force: InForce, model: Model | None) -> bool:
    """By itself, where the model does not plan anyhow."""
    wanted = in_force.settings.todo.enabled
    if wanted == "auto":
        return model is None or not (model.compat or {}).get("plansByItself")
    return wanted == "on"
