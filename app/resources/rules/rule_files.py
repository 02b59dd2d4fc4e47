"""Finds and reads rules for the agent: bayou's own and those for Cursor, Windsurf and Cline.

Sorts them by when they apply: always in the prompt, in the rulebook that the model reads on demand (`rule://name`),
or conditionally, when `rule_watch` finds a match in the stream.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.frontmatter import files_with_suffixes, read_markdown_with_frontmatter
from app.resources.paths import BayouPaths, folders_up_to_project_top
from app.resources.rules.rule_patterns import RegexEngineMissing, rule_condition_fault
from app.resources.rules.rule_scopes import (
    RuleScope,
    parse_rule_scopes,
    rule_scopes_of_glob,
    unclosed_glob_bracket_error,
)
from app.resources.system_prompt import PromptRuleEntry
from app.values.user_errors import UserError
from tools.files.path_existence import is_dir, is_file

RuleSource = Literal["native", "cursor", "windsurf", "cline"]
AGENT_RULE_SOURCES: tuple[RuleSource, ...] = ("native", "cursor", "windsurf", "cline")
"""The sources of rules in order of precedence: of several rules with one name, the first found is used."""
RuleActivation = Literal["conditional", "always", "rulebook", "unreachable"]
RuleInterruptMode = Literal["never", "prose-only", "tool-only", "always"]
_RULE_INTERRUPT_MODES = ("never", "prose-only", "tool-only", "always")


class AgentRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for the agent: its text, and when it applies."""

    name: str
    path: Path
    source: RuleSource
    content: str
    """The text of the rule after the frontmatter."""
    description: str = ""
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    conditions: tuple[str, ...] = ()
    """The regular expressions of the rule's conditions, all valid."""
    scopes: tuple[RuleScope, ...] = ()
    """The parts of a stream in which the conditions are searched."""
    interrupt_mode: RuleInterruptMode = "always"

    @property
    def activation(self) -> RuleActivation:
        if self.conditions:
            return "conditional"
        if self.always_apply:
            return "always"
        return "rulebook" if self.description or self.globs else "unreachable"


class UnknownAgentRule(UserError):
    """Raised if no rule has that name. The message lists the existing rules."""


class AgentRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a session, and the faults of unreadable ones."""

    rules: tuple[AgentRule, ...] = ()
    shadowed: tuple[AgentRule, ...] = ()
    """Rules that are not used, because an earlier rule has the same name."""
    problems: tuple[str, ...] = ()

    def rules_with_activation(self, bucket: RuleActivation) -> tuple[AgentRule, ...]:
        return tuple(rule for rule in self.rules if rule.activation == bucket)

    def rules_with_globs(self) -> tuple[AgentRule, ...]:
        """Returns the rules that apply automatically when a matching file is touched."""
        return tuple(rule for rule in self.rules_with_activation("rulebook") if rule.globs)

    def prompt_rules(self) -> tuple[tuple[tuple[str, str], ...], tuple[PromptRuleEntry, ...]]:
        """Returns the rules that always apply (name and text) and the rulebook: `always_rules` and `rulebook`
        of the prompt."""
        always = tuple((rule.name, rule.content) for rule in self.rules_with_activation("always"))
        rulebook = tuple(
            PromptRuleEntry(name=rule.name, description=rule.description, globs=rule.globs)
            for rule in self.rules_with_activation("rulebook")
            if rule.description
        )
        return always, rulebook

    def rule_text(self, name: str) -> str:
        """Returns the text of `rule://name`. Raises `UnknownAgentRule`."""
        readable = [rule for rule in self.rules if rule.activation != "unreachable"]
        for rule in readable:
            if rule.name == name:
                return rule.content
        available = ", ".join(rule.name for rule in readable) or "none"
        raise UnknownAgentRule(f"Unknown rule: {name}\nAvailable: {available}")


def find_agent_rules(
    paths: BayouPaths, *, is_trusted: bool, sources: Iterable[str] = AGENT_RULE_SOURCES
) -> AgentRules:
    """Returns all rules in order of their sources. The project's rules apply only if the project is trusted."""
    wanted = set(sources)
    problems: list[str] = []
    counted: dict[str, AgentRule] = {}
    shadowed: list[AgentRule] = []
    for source in AGENT_RULE_SOURCES:
        if source not in wanted:
            continue
        for path, name in _rule_files(source, paths, is_trusted, problems):
            if problem := paths.symlink_escape(path):
                problems.append(problem)
                continue
            rule = read_agent_rule(path, name=name, source=source, problems=problems)
            if rule is None:
                continue
            if rule.name in counted:
                shadowed.append(rule)
            else:
                counted[rule.name] = rule
    return AgentRules(rules=tuple(counted.values()), shadowed=tuple(shadowed), problems=tuple(problems))


def _rule_files(
    source: RuleSource, paths: BayouPaths, is_trusted: bool, problems: list[str]
) -> Iterator[tuple[Path, str]]:
    """Yields the rule files of a source with their rules' names. The project's files are included only if the
    project is trusted."""
    match source:
        case "native":
            if is_trusted:
                yield from _named_files_in(paths.project_dir / "rules", (".md", ".mdc"), problems)
            yield from _named_files_in(paths.agent_dir / "rules", (".md", ".mdc"), problems)
        case "cursor":
            yield from _named_files_in(paths.home / ".cursor" / "rules", (".mdc", ".md"), problems)
            if is_trusted:
                yield from _named_files_in(paths.cwd / ".cursor" / "rules", (".mdc", ".md"), problems)
        case "windsurf":
            shared = paths.home / ".codeium" / "windsurf" / "memories" / "global_rules.md"
            if is_file(shared):
                yield shared, "global_rules"
            if is_trusted:
                yield from _named_files_in(paths.cwd / ".windsurf" / "rules", (".md",), problems)
        case "cline":
            if is_trusted:
                yield from _cline_rule_files(paths, problems)


def _named_files_in(
    folder: Path, suffixes: tuple[str, ...], problems: list[str]
) -> Iterator[tuple[Path, str]]:
    for path in files_with_suffixes(folder, suffixes, problems):
        yield path, path.stem


def _cline_rule_files(paths: BayouPaths, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """Yields the rule files of the nearest `.clinerules` from `cwd` up to the project's top folder: a single rule,
    or a folder of rules."""
    for folder in folders_up_to_project_top(paths.cwd, paths.top):
        place = folder / ".clinerules"
        if is_dir(place):
            yield from _named_files_in(place, (".md",), problems)
            return
        if is_file(place):
            yield place, "clinerules"
            return


def read_agent_rule(path: Path, *, name: str, source: RuleSource, problems: list[str]) -> AgentRule | None:
    """Reads a file as a rule; its faults are added to `problems`."""
    document = read_markdown_with_frontmatter(path, problems)
    if document is None:
        return None
    if document.problem:
        problems.append(f"{path}: {document.problem}")
    fields = document.fields
    try:
        conditions, scopes = _parse_conditions(path, fields, problems)
    except RegexEngineMissing as problem:  # it is not read as one without a condition
        problems.append(f"{path}: the rule {name} is ignored, because its condition is not valid: {problem}")
        return None
    mode = fields.get("interruptMode", "always")
    if mode not in _RULE_INTERRUPT_MODES:
        problems.append(
            f"{path}: interruptMode {mode!r} is not one of {', '.join(_RULE_INTERRUPT_MODES)}; `always` is used"
        )
        mode = "always"
    description = fields.get("description")
    globs = _parse_texts(fields.get("globs"))
    for glob in globs:
        if why := unclosed_glob_bracket_error(glob):
            problems.append(f"{path}: the glob {glob!r} {why}")
    return AgentRule(
        name=name,
        path=path,
        source=source,
        content=document.body,
        description=" ".join(description.split()) if isinstance(description, str) else "",
        globs=globs,
        always_apply=_always_applies(fields, source),
        conditions=conditions,
        scopes=scopes,
        interrupt_mode=mode,
    )


def _always_applies(fields: dict[str, Any], source: RuleSource) -> bool:
    """Says whether a rule always applies. Cline's and Windsurf's rules do by default, as in their own tools."""
    if fields.get("alwaysApply") is True or fields.get("trigger") == "always_on":
        return True
    says_nothing = not fields.keys() & {"alwaysApply", "trigger", "description", "globs", "condition"}
    return says_nothing and source in ("cline", "windsurf")


def _parse_conditions(
    path: Path, fields: dict[str, Any], problems: list[str]
) -> tuple[tuple[str, ...], tuple[RuleScope, ...]]:
    """Returns the conditions and their scopes. A condition that is a file glob means any edit or write of a
    matching file."""
    given = next(
        (fields[key] for key in ("condition", "ttsr_trigger", "ttsrTrigger") if fields.get(key) is not None),
        None,
    )
    scopes = list(parse_rule_scopes(",".join(_parse_texts(fields.get("scope")))))
    conditions: list[str] = []
    for text in _parse_texts(given, split=False):
        from_glob = rule_scopes_of_glob(text)
        if from_glob:
            scopes += from_glob
            conditions.append(".*")
        elif problem := rule_condition_fault(text):
            problems.append(f"{path}: the condition {text!r} is not a regular expression: {problem}")
        else:
            conditions.append(text)
    return tuple(dict.fromkeys(conditions)), tuple(dict.fromkeys(scopes))


def _parse_texts(value: Any, *, split: bool = True) -> tuple[str, ...]:
    """Returns the texts of a list, or the parts of a comma-separated text."""
    if isinstance(value, str):
        parts = value.split(",") if split and "{" not in value and "(" not in value else [value]
        return tuple(part.strip() for part in parts if part.strip())
    if isinstance(value, list):
        return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
    return ()
