"""`/rules`."""

from pathlib import Path

from app.resources.paths import BayouPaths
from app.resources.settings.settings_agent import AgentRuleSettings
from app.tui.features.rules.page import AgentRulesPage
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(
    folder: Path,
    person: Person,
    settings: AgentRuleSettings = AgentRuleSettings(),  # noqa: B008  (frozen)
    *,
    is_trusted: bool = True,
) -> AgentRulesPage:
    project = folder / "home" / "project"
    project.mkdir(parents=True, exist_ok=True)
    paths = BayouPaths.from_env({"HOME": str(folder / "home")}, project)
    return AgentRulesPage(
        lambda: paths, person.ask, person.say, settings=lambda: settings, is_trusted=lambda: is_trusted
    )


def write(folder: Path, name: str, text: str) -> None:
    path = folder / "home" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def test_rules_stand_by_what_becomes_of_them_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, "project/.bayou/rules/tabs.md", "---\nalwaysApply: true\n---\nUse tabs.")
    write(tmp_path, "project/.bayou/rules/sql.md", "---\nglobs: '*.sql'\n---\nUpper case.")
    write(tmp_path, "project/.bayou/rules/notes.md", "---\ncondition: NOTE\n---\nNo notes.")
    write(tmp_path, "project/.bayou/rules/lost.md", "Nothing leads here.")
    write(tmp_path, "project/.bayou/rules/odd.md", "---\ncondition: '['\n---\nBroken.")
    write(tmp_path, ".bayou/agent/rules/tabs.md", "---\nalwaysApply: true\n---\nUse spaces.")
    async with at_the_keyboard(size=(140, 40)) as person, person.asked(page_of(tmp_path, person).open()):
        await person.sees_soon("In every prompt", "Overridden by a rule with the same name", "Errors")
        for text in ("files: *.sql", "stops the answer at NOTE", "Never applied", "lost", "odd.md"):
            assert text in person.sees
        await person.press("enter")
        await person.sees_soon("Rule tabs", "Use tabs.")
        await person.press("escape")
        await person.sees_soon("In every prompt")
        await person.press("escape")


async def test_where_there_are_none_it_says_where_they_lie(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        await page_of(tmp_path, person, is_trusted=False).open()
        await page_of(tmp_path, person, AgentRuleSettings(enabled=False)).open()
        assert person.heard == [
            "No rules found. Put rule files into .bayou/rules or ~/.bayou/agent/rules. Project rules apply after "
            "you trust the project: /trust.",
            "Rules are switched off (rules.enabled in /settings).",
        ]
