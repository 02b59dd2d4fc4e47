"""The feature for the rules of a project and of a person, and for notes in their context files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.rules.notes import MemoryNotesPage
    from app.tui.features.rules.page import AgentRulesPage


class AgentRulesFeature(TuiFeature["AgentRulesPage"]):
    slash_commands: Sequence[SlashCommand["AgentRulesPage"]] = (
        SlashCommand(
            name="rules",
            help="active rules, and why each applies",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "AgentRulesPage":
        from app.tui.features.rules.page import AgentRulesPage  # noqa: PLC0415  (when it is first used)

        assembled = screen.assembled
        return AgentRulesPage(
            lambda: assembled.prompt.paths,
            screen.ask,
            screen.show_message,
            settings=lambda: assembled.effective_settings.settings.rules,
            is_trusted=lambda: assembled.project_trust.decision.is_trusted,
        )


class MemoryNotesFeature(TuiFeature["MemoryNotesPage"]):
    """The feature for notes: the `#` prefix in the editor saves a line to a memory file, and `/memory` lists these
    files."""

    slash_commands: Sequence[SlashCommand["MemoryNotesPage"]] = (
        SlashCommand(
            name="memory",
            help="instruction and memory files: open one in your editor",
            run=lambda page, _: page.open(),
        ),
    )

    def page(self, screen: FeatureServices) -> "MemoryNotesPage":
        from app.tui.features.rules.notes import MemoryNotesPage  # noqa: PLC0415  (when it is first used)

        prompt = screen.assembled.prompt
        return MemoryNotesPage(
            screen.session,
            lambda: prompt.paths,
            lambda: [file.path for file in prompt.context_files.files],
            screen.edit_file,
            screen.ask,
            screen.show_message,
            reload=prompt.reload_files,
        )


AGENT_RULES_FEATURE = AgentRulesFeature()
MEMORY_NOTES_FEATURE = MemoryNotesFeature()
TUI_FEATURES = (
    AGENT_RULES_FEATURE,
    MEMORY_NOTES_FEATURE,
)
