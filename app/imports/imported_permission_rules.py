"""Converts permissions of other programs to bayou's rules. A permission that bayou cannot state is returned with
the reason, and never as a rule that allows more or denies less."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.permits.permit_rules import PermitRule, RuleAction, parse_permit_rule
from app.resources.claude_tool_names import bayou_tools_for_claude_tool
from tools.lazy_patterns import lazy_regex

_PERMISSION_CALL_PATTERN = lazy_regex(r"([A-Za-z_][\w*-]*)(?:\((.*)\))?\Z", re.DOTALL)
_SHELL_OPERATOR_PATTERN = lazy_regex(r"[;&|<>`\n]|\$\(")
_RULE_KIND_BY_OPENCODE_PERMISSION = {
    "edit": "Edit",
    "write": "Edit",
    "read": "Read",
    "bash": "Bash",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "glob": "Glob",
    "grep": "Grep",
    "list": "LS",
}
_RULE_ACTION_BY_OPENCODE_ACTION: Mapping[str, RuleAction] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_PERMISSION_BY_CODEX_DECISION: Mapping[str, RuleAction] = {
    "allow": "allow",
    "prompt": "ask",
    "forbidden": "deny",
}


class ImportedPermissionRule(msgspec.Struct, frozen=True, kw_only=True):
    """One permission of another program, and bayou's rule for it."""

    action: RuleAction
    original: str
    rule: str = ""
    refused: str = ""
    """Why there is no rule."""


def convert_claude_permission_rules(
    permissions: Any, *, is_project: bool = False
) -> Iterator[ImportedPermissionRule]:
    """Yields the rules of the table `permissions` in a settings file of Claude Code: the user's, or a project's."""
    actions: tuple[RuleAction, ...] = ("deny", "ask", "allow")
    table = permissions if isinstance(permissions, dict) else {}
    for action in actions:
        listed = table.get(action)
        for original in listed if isinstance(listed, list) else ():
            if isinstance(original, str):
                yield from _rules_of_call(original, action, is_project=is_project)


def convert_opencode_permission_rules(permission: Any) -> Iterator[ImportedPermissionRule]:
    """Yields the rules of the table `permission` in a settings file of opencode."""
    for tool, said in permission.items() if isinstance(permission, dict) else ():
        entries = list(said.items()) if isinstance(said, dict) else [("*", said)]
        for pattern, word in entries:
            action = _RULE_ACTION_BY_OPENCODE_ACTION.get(word) if isinstance(word, str) else None
            original = f"{tool}: {pattern}: {word}"
            kind = _RULE_KIND_BY_OPENCODE_PERMISSION.get(tool)
            if action is None or kind is None:
                yield ImportedPermissionRule(
                    action=action or "ask", original=original, refused="bayou has no rule for this"
                )
            elif kind == "Bash" and pattern == "*" and (action != "deny" or len(entries) > 1):
                yield ImportedPermissionRule(
                    action=action, original=original, refused=_MODE_NOT_IMPORTED_REASON
                )
            else:
                call = kind if pattern == "*" else f"{kind}({pattern})"
                for found in _rules_of_call(call, action):
                    yield msgspec.structs.replace(found, original=original)


def convert_codex_permission_rules(source: str) -> Iterator[ImportedPermissionRule]:
    """Yields the rules of a `.rules` file of codex. Raises `ValueError` for a file that is no list of calls."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, RecursionError, MemoryError) as problem:
        raise ValueError(f"cannot be read: {problem}") from None
    for statement in statements:
        call = statement.value if isinstance(statement, ast.Expr) else None
        original = " ".join(ast.unparse(statement).split())
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or call.func.id != "prefix_rule"
        ):
            yield ImportedPermissionRule(
                action="ask", original=original, refused="bayou reads calls of prefix_rule only"
            )
            continue
        yield from _rules_of_prefix(call, original)


_MODE_NOT_IMPORTED_REASON = "the permission mode decides what is in no rule"


def _rules_of_prefix(call: ast.Call, original: str) -> Iterator[ImportedPermissionRule]:
    try:
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
        if call.args:
            given["pattern"] = ast.literal_eval(call.args[0])
    except (ValueError, TypeError, RecursionError):
        given = {}
    action = _PERMISSION_BY_CODEX_DECISION.get(str(given.get("decision", "allow")))
    words = given.get("pattern")
    if action is None or not isinstance(words, list) or not words:
        yield ImportedPermissionRule(
            action=action or "ask", original=original, refused="its pattern or decision cannot be read"
        )
        return
    for line in _alternatives(words):
        yield _checked_rule(action, original, f"bash: {line} **" if line else "")


def _alternatives(words: list[Any]) -> Iterator[str]:
    """Yields the commands that a pattern stands for: an element may be a list of words."""
    lines = [""]
    for word in words:
        choices = word if isinstance(word, list) else [word]
        if len(lines) * len(choices) > 50 or not all(isinstance(one, str) and one for one in choices):
            yield ""
            return
        lines = [f"{line} {one}".strip() for line in lines for one in choices]
    yield from lines


def _rules_of_call(
    original: str, action: RuleAction, *, is_project: bool = True
) -> Iterator[ImportedPermissionRule]:
    match = _PERMISSION_CALL_PATTERN.match(original.strip())
    if match is None:
        yield ImportedPermissionRule(action=action, original=original, refused="is no tool with a pattern")
        return
    tool, pattern = match[1], (match[2] or "").strip()
    is_everything = pattern in ("", "*", "**", ":*")
    if tool.startswith("mcp__"):
        name = tool if tool.count("__") > 1 else f"{tool}__*"
        yield _checked_rule(action, original, f"tool: {name}")
    elif not (names := bayou_tools_for_claude_tool(tool)):
        yield ImportedPermissionRule(
            action=action, original=original, refused=f"bayou has no tool like {tool}"
        )
    elif tool == "Bash" and is_everything and action == "allow":
        yield ImportedPermissionRule(
            action=action, original=original, refused="to allow every command, use the mode full"
        )
    elif tool == "NotebookEdit" and is_everything and action == "allow":
        yield _checked_rule(action, original, "edit: **/*.ipynb")
    elif is_everything:
        for name in names:
            yield _checked_rule(action, original, f"tool: {name}")
    elif tool == "Bash":
        yield _rule_of_command(pattern, original, action)
    elif tool == "WebFetch":
        host = pattern.removeprefix("domain:")
        yield _checked_rule(action, original, f"net: {host}")
    elif tool in ("Read", "Edit", "Write", "MultiEdit"):
        yield from _rules_of_path("read" if tool == "Read" else "edit", pattern, original, action, is_project)
    else:
        yield ImportedPermissionRule(
            action=action, original=original, refused=f"bayou has no patterns for {tool}"
        )


def _rule_of_command(pattern: str, original: str, action: RuleAction) -> ImportedPermissionRule:
    """Returns bayou's rule for a command pattern in which `*` stands for any characters: exact if the `*` ends the
    pattern, else narrower, which is right only for a rule that allows."""
    begin, has_more = pattern.removesuffix(":*"), pattern.endswith("*")
    begin = begin.removesuffix(" *")
    refused = ""
    if _SHELL_OPERATOR_PATTERN.search(begin):
        refused = "bayou judges each command of a line by itself"
    elif set("?[") & set(begin):
        refused = "it has ? or [, which are wildcards in bayou's rules"
    elif "*" in begin.removesuffix("*") and action != "allow":
        refused = "a * in bayou's rules stays within one word"
    if refused:
        return ImportedPermissionRule(action=action, original=original, refused=refused)
    return _checked_rule(action, original, f"bash: {begin.strip()}{' **' if has_more else ''}")


def _rules_of_path(
    kind: str, pattern: str, original: str, action: RuleAction, is_project: bool
) -> Iterator[ImportedPermissionRule]:
    """Yields the rules for a pattern of gitignore's form: `//x` is absolute, a name without a slash lies anywhere."""
    if set("[]{}!\\") & set(pattern):
        yield ImportedPermissionRule(
            action=action, original=original, refused="bayou's patterns have only *, ** and ?"
        )
        return
    if pattern.startswith("/") and not pattern.startswith("//") and not is_project:
        yield ImportedPermissionRule(
            action=action, original=original, refused="its path begins at the folder of that program"
        )
        return
    if pattern.startswith("//"):
        path = pattern[1:]
    elif pattern.startswith("~/"):
        path = pattern
    else:
        path = pattern.removeprefix("./").lstrip("/")
        is_anywhere = "/" not in pattern.rstrip("/") and path != "**"
        path = f"**/{path}" if is_anywhere else path
    path = f"{path}**" if path.endswith("/") else path
    yield _checked_rule(action, original, f"{kind}: {path}")
    if action != "allow" and not path.endswith("*"):  # the name of a folder covers what is in it
        yield _checked_rule(action, original, f"{kind}: {path}/**")


def _checked_rule(action: RuleAction, original: str, rule: str) -> ImportedPermissionRule:
    found = parse_permit_rule(rule, action, "user")
    if isinstance(found, PermitRule):
        return ImportedPermissionRule(action=action, original=original, rule=found.text)
    return ImportedPermissionRule(
        action=action, original=original, refused=f"as a rule of bayou it {found.reason}"
    )


def remove_duplicate_rules(rules: Iterable[ImportedPermissionRule]) -> list[ImportedPermissionRule]:
    """Returns the rules without duplicates."""
    seen: set[tuple[str, str]] = set()
    found: list[ImportedPermissionRule] = []
    for rule in rules:
        key = (rule.action, rule.rule or rule.original)
        if key not in seen:
            seen.add(key)
            found.append(rule)
    return found
