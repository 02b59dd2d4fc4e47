"""The page for `/rules`: all rules for the agent by how they take effect, with the reason; shadowed rules and problems
in rule files."""

import asyncio
from collections.abc import Callable

import msgspec

from app.resources.paths import BayouPaths
from app.resources.rules.rule_files import AgentRule, AgentRules, RuleActivation, find_agent_rules
from app.resources.settings.settings_agent import AgentRuleSettings
from app.tui.features.shared_dialogs import show_card
from app.tui.page_protocols import AskOnScreen, ShowMessage
from app.tui.status.header_and_footer import short_path
from tools.tool_result_values import Card, MarkdownBlock, TextBlock
from widgets.lists.list_rows import ListRow
from widgets.screens.picker import PickerResult, PickerScreen
from widgets.screens.preview_pane import PreviewParagraph, PreviewText

_RULE_GROUP_TITLES: tuple[tuple[RuleActivation, str], ...] = (
    ("always", "In every prompt"),
    ("conditional", "Applied when an answer matches"),
    ("rulebook", "Listed in the prompt, loaded when needed"),
    ("unreachable", "Never applied: no condition, alwaysApply, description or globs"),
)


class AgentRulesPage(msgspec.Struct, frozen=True):
    """Lists the rules that a project and its user give the agent."""

    paths: Callable[[], BayouPaths]
    ask: AskOnScreen
    show_message: ShowMessage
    settings: Callable[[], AgentRuleSettings]
    is_trusted: Callable[[], bool]

    async def open(self) -> None:
        settings, paths, is_trusted = self.settings(), self.paths(), self.is_trusted()
        if not settings.enabled:
            self.show_message("Rules are switched off (rules.enabled in /settings).")
            return
        rules = await asyncio.to_thread(
            find_agent_rules, paths, is_trusted=is_trusted, sources=settings.sources
        )
        if not (rules.rules or rules.shadowed or rules.problems):
            theirs = "" if is_trusted else " Project rules apply after you trust the project: /trust."
            self.show_message(
                f"No rules found. Put rule files into .bayou/rules or ~/.bayou/agent/rules.{theirs}"
            )
            return
        by_id = {str(number): rule for number, rule in enumerate((*rules.rules, *rules.shadowed))}
        note = "" if is_trusted else "the project is not trusted, so its rules are ignored"
        rows, current = _rule_rows(rules, by_id, settings, paths), ""
        while True:
            screen = PickerScreen(
                "Rules",
                rows,
                order="given",
                choose="read",
                note=note,
                current=current,
                preview=lambda row: _rule_preview(by_id.get(row.id), row, paths),
            )
            picked: PickerResult | None = await self.ask(screen)
            rule = by_id.get(picked.row.id) if picked is not None else None
            if picked is None or rule is None:
                return
            current = picked.row.id
            await show_card(self.ask, f"Rule {rule.name}", _rule_card(rule, paths))


def _rule_rows(
    rules: AgentRules, by_id: dict[str, AgentRule], settings: AgentRuleSettings, paths: BayouPaths
) -> list[ListRow]:
    rows: list[ListRow] = []
    ids = {id(rule): key for key, rule in by_id.items()}
    for bucket, title in _RULE_GROUP_TITLES:
        found = rules.rules_with_activation(bucket)
        if found:
            off = " (rules.interrupt is off)" if bucket == "conditional" and not settings.interrupt else ""
            rows.append(ListRow(id=bucket, title=title + off, is_heading=True))
        rows += [_rule_row(ids[id(rule)], rule, paths) for rule in found]
    if rules.shadowed:
        rows.append(ListRow(id="shadowed", title="Overridden by a rule with the same name", is_heading=True))
        rows += [_rule_row(ids[id(rule)], rule, paths) for rule in rules.shadowed]
    if rules.problems:
        rows.append(ListRow(id="problems", title="Errors", is_heading=True))
        rows += [
            ListRow(id=f"problem {number}", title=name.rpartition("/")[2], detail=words, tone="warning")
            for number, (name, _, words) in enumerate(problem.partition(": ") for problem in rules.problems)
        ]
    return rows


def _rule_row(key: str, rule: AgentRule, paths: BayouPaths) -> ListRow:
    return ListRow(
        id=key,
        title=rule.name,
        detail=rule_activation_text(rule),
        right=short_path(rule.path.parent, paths.home),
    )


def rule_activation_text(rule: AgentRule) -> str:
    """Returns a text that says when a rule takes effect: at which conditions, always, or for which files."""
    if rule.conditions:
        how = {"always": "stops the answer", "never": "is added to the tool result"}.get(
            rule.interrupt_mode, "stops the call"
        )
        return f"{how} at {', '.join(rule.conditions)}"
    if rule.always_apply:
        return f"alwaysApply, from {rule.source}"
    words = [rule.description] if rule.description else []
    return " · ".join([*words, f"files: {', '.join(rule.globs)}"] if rule.globs else words)


def _rule_preview(rule: AgentRule | None, row: ListRow, paths: BayouPaths) -> PreviewText:
    if rule is None:
        return PreviewText(parts=(PreviewParagraph(text=f"{row.title}: {row.detail}", tone="warning"),))
    return PreviewText(
        title=rule.name,
        parts=(
            PreviewParagraph(text=short_path(rule.path, paths.home), tone="dim"),
            PreviewParagraph(text=rule_activation_text(rule), tone="muted"),
            PreviewParagraph(text=rule.content),
        ),
    )


def _rule_card(rule: AgentRule, paths: BayouPaths) -> Card:
    return Card(
        title=rule.name,
        subject=short_path(rule.path, paths.home),
        blocks=(TextBlock(text=rule_activation_text(rule)), MarkdownBlock(text=rule.content)),
    )
