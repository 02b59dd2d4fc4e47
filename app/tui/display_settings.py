"""Applies the display settings to the widgets of the page that cannot read settings themselves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from textual import constants

from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import Settings
from app.tui.current_theme import CurrentTheme
from app.tui.feature_register import FeatureRegister
from app.tui.features.side.feature import SIDE_PANEL_FEATURE
from app.tui.page_protocols import ShowMessage
from app.tui.status.status_lines import StatusLines
from widgets.completion.completion_popup import CompletionPopup
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.status_header import StatusHeader
from widgets.transcript.transcript_blocks import AppNoteKind
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from textual.types import AnimationLevel  # imported late, because it loads all of Textual's widgets

_ANIMATION_LEVELS: "tuple[AnimationLevel, ...]" = ("none", "basic", "full")
_ANIMATION_LEVEL_BY_SETTING: "dict[str, AnimationLevel]" = {"off": "none", "reduced": "basic", "on": "full"}
"""Textual's animation level for each value of the setting; the environment may lower the level."""
_TERMINALS_WITHOUT_LINKS = ("linux", "dumb")
"""Terminal types that would print the escape sequence of a hyperlink as text."""


class DisplaySettingsApplier(msgspec.Struct, frozen=True):
    """Applies the display settings to the widgets of one page, now and after changes."""

    header: StatusHeader
    transcript: Transcript
    editor: PromptEditor
    status: StatusLines
    feature_register: FeatureRegister
    current_theme: CurrentTheme
    show_message: ShowMessage
    env: Mapping[str, str]

    def apply_and_follow(self, effective_settings: EffectiveSettings) -> None:
        """Applies the display settings now, before the first paint, and again whenever one changes."""
        self._apply_transcript_settings(effective_settings.settings)
        self.transcript.open_all(thinking=not effective_settings.settings.display.hide_thinking_block)
        effective_settings.subscribe(lambda before: self._apply_changes(before, effective_settings.settings))

    def _apply_changes(self, before: Settings, now: Settings) -> None:
        is_other = now.display.theme != before.display.theme
        if is_other and (problem := self.current_theme.apply_theme(now.display.theme)) is not None:
            self.show_message(problem, AppNoteKind.WARNING)
        if now.display.hide_thinking_block != before.display.hide_thinking_block:
            self.transcript.open_all(thinking=not now.display.hide_thinking_block)
        self._apply_transcript_settings(now)

    def _apply_transcript_settings(self, settings: Settings) -> None:
        display = settings.display
        self.header.set_class(not settings.footer.header or display.quiet_startup == "header", "-off")
        self.feature_register.page(SIDE_PANEL_FEATURE).apply_setting(display.side_panel)
        self.transcript.mouse.wheel_rows = display.fullscreen_wheel_scroll_lines
        self.transcript.styles.scrollbar_size_vertical = 0 if display.fullscreen_scrollbar == "hidden" else 1
        self.transcript.set_display_options(cards=display.expand_tools, diagrams=settings.markdown.mermaid)
        links = settings.terminal.hyperlinks
        self.transcript.painter.set_links_enabled(
            self.env.get("TERM") not in _TERMINALS_WITHOUT_LINKS if links == "auto" else links == "on"
        )
        wished = _ANIMATION_LEVEL_BY_SETTING[display.animations]
        most = constants.TEXTUAL_ANIMATIONS
        self.header.app.animation_level = (
            wished if _ANIMATION_LEVELS.index(wished) < _ANIMATION_LEVELS.index(most) else most
        )
        self.editor.surface.set_blinking(display.cursor_blink and wished != "none")
        self.editor.history.max_prompts = settings.editor.history_size
        self.editor.keyboard.vi.set_enabled(settings.editor.vi_mode)
        self.editor.paste_chip_lines = settings.editor.paste_chip_lines
        self.editor.surface.set_side_padding(settings.editor.editor_padding_x)
        if isinstance(popup := self.editor.popup, CompletionPopup):
            popup.max_rows = settings.editor.autocomplete_max_visible
        self.status.refresh_all()
