"""A session's parts are its own: outside the engine there are verbs and the frozen state."""

import ast

from tests.architecture.sources import files, name, nodes

PARTS = {
    "account", "brancher", "choice", "compactor", "conversation", "deliveries", "hooks", "jobs", "machinery",
    "navigation", "options", "places", "prompts", "queues", "readiness", "requests", "runner", "shell", "summariser",
    "telling",
    "toolbox",
}  # fmt: skip


def _is_session(value: ast.expr) -> bool:
    word = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
    return word in ("session", "_session")


def test_no_part_of_a_session_is_reached_from_outside_the_engine():
    reaching = {
        name(path)
        for path in files("app")
        if not name(path).startswith("app/engine/")
        for node in nodes(path, ast.Attribute)
        if _is_session(node.value) and _is_part(node)
    }
    assert reaching == set(), "Use a verb of the session, or `session.state`."


def _is_part(node: ast.Attribute) -> bool:
    return node.attr in PARTS or (node.attr.startswith("_") and not node.attr.startswith("__"))
