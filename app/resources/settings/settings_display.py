"""The settings of the user interface: theme, transcript, editor, header and footer, terminal, notifications."""

from typing import Annotated, Literal

from msgspec import Meta

from app.resources.settings.settings_agent import SettingsGroup

FooterSegment = Literal[
    "path",
    "git",
    "session",
    "tokens",
    "cacheRead",
    "cacheWrite",
    "cacheHit",
    "cost",
    "context",
    "model",
    "thinking",
    "permissions",
    "queue",
    "jobs",
    "time",
    "retry",
    "watchdog",
    "indexing",
    "todos",
    "goal",
    "host",
    "sessionId",
]
SegmentTone = Literal["text", "muted", "dim", "accent", "success", "warning", "error"]


class DisplaySettings(SettingsGroup, frozen=True, kw_only=True):
    """Theme, transcript, mouse and side panel."""

    theme: Annotated[
        str,
        Meta(
            title="Theme",
            description="Theme name, or a `light/dark` pair; `system` follows the terminal's background.",
        ),
    ] = "system"
    quiet_startup: Annotated[
        bool | Literal["header"],
        Meta(title="Hide welcome", description="Hide the welcome page; `header` also hides the header."),
    ] = False
    hide_thinking_block: Annotated[
        bool,
        Meta(
            title="Collapse thinking",
            description="Show thinking as one line that can be opened; off shows all of it.",
        ),
    ] = True
    animations: Annotated[
        Literal["on", "reduced", "off"],
        Meta(title="Animations", description="Smooth scrolling, cursor and spinner animations."),
    ] = "on"
    cursor_blink: Annotated[
        bool,
        Meta(
            title="Blinking cursor",
            description="Let the cursor blink; this uses some power while bayou is idle.",
        ),
    ] = False
    fullscreen_exit_output: Annotated[
        Literal["transcript", "resume-hint", "last-answer"],
        Meta(title="Output after quitting", description="What stays on the terminal after quitting."),
    ] = "last-answer"
    fullscreen_scrollbar: Annotated[
        Literal["auto", "hidden"],
        Meta(title="Scroll bar", description="Whether the transcript has a scroll bar."),
    ] = "auto"
    fullscreen_copy_on_select: Annotated[
        bool, Meta(title="Copy on select", description="Copy text when you select it with the mouse.")
    ] = True
    fullscreen_wheel_scroll_lines: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            title="Lines per wheel step",
            description="Lines that one step of the mouse wheel scrolls.",
        ),
    ] = 3
    side_panel: Annotated[
        bool | Literal["auto"],
        Meta(
            title="Side panel",
            description="Show changed files, todos, jobs, the context and the usage on the right: `auto` from 120 "
            "columns, true from 100 columns.",
        ),
    ] = "auto"
    expand_tools: Annotated[
        Literal["never", "errors", "edits", "results", "always"],
        Meta(
            title="Open tool cards",
            description="Tool cards that open automatically. `never`: none. `errors`: failed calls and running "
            "commands. `edits`: file changes too. `results`: also the last three lines of commands, cells "
            "and MCP "
            "calls. `always`: all.",
        ),
    ] = "results"


class MarkdownSettings(SettingsGroup, frozen=True, kw_only=True):
    """Formatting of answers."""

    mermaid: Annotated[
        Literal["streaming", "final", "off"],
        Meta(
            title="Mermaid diagrams",
            description="Draw Mermaid diagrams in answers as text. `streaming`: while they arrive. `final`: "
            "when complete. `off`: never.",
        ),
    ] = "final"


class ImageSettings(SettingsGroup, frozen=True, kw_only=True):
    """Images in the terminal and in requests."""

    auto_resize: Annotated[
        bool, Meta(title="Resize images", description="Scale images down to the size that providers accept.")
    ] = True
    block_images: Annotated[bool, Meta(title="Block images", description="Never send images to a model.")] = (
        False
    )
    protocol: Annotated[
        Literal["auto", "kitty", "iterm2", "sixel", "blocks"],
        Meta(
            title="Image display",
            description="How images are drawn in the terminal. `auto`: the best way it supports; `blocks`: "
            "with half-block characters.",
        ),
    ] = "auto"


class EditorSettings(SettingsGroup, frozen=True, kw_only=True):
    """The prompt editor."""

    editor_padding_x: Annotated[
        int,
        Meta(
            ge=0,
            le=3,
            title="Editor padding",
            description="Empty columns at the left and right inside the editor.",
        ),
    ] = 0
    autocomplete_max_visible: Annotated[
        int,
        Meta(ge=3, le=20, title="Completion list rows", description="Maximum rows of the completion list."),
    ] = 8
    vi_mode: Annotated[
        bool, Meta(title="Vi mode", description="Edit prompts with vi keys: normal, insert and visual mode.")
    ] = False
    paste_chip_lines: Annotated[
        int,
        Meta(
            ge=2,
            title="Fold pastes longer than",
            description="Pastes with more lines than this are folded in the editor.",
        ),
    ] = 10
    history_size: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            title="Prompt history size",
            description="Number of earlier prompts kept per project.",
        ),
    ] = 1000


class FooterSegmentSettings(SettingsGroup, frozen=True, kw_only=True):
    """Colour and visibility of one footer segment."""

    tone: Annotated[
        SegmentTone | None, Meta(description="Colour of the segment; null: the default colour.")
    ] = None
    show: Annotated[
        Literal["always", "running", "idle", "wide"],
        Meta(
            description="When the segment is shown: always, while the agent works or is idle, or from 120 columns on."
        ),
    ] = "always"


class FooterSettings(SettingsGroup, frozen=True, kw_only=True):
    """The header and the footer."""

    segments: Annotated[
        tuple[FooterSegment, ...],
        Meta(
            title="Footer segments",
            description="Parts of the footer in this order; if space is short, the least important are left "
            "out.",
        ),
    ] = (
        "path",
        "git",
        "session",
        "tokens",
        "cacheHit",
        "cost",
        "context",
        "goal",
        "queue",
        "jobs",
        "indexing",
        "permissions",
        "model",
        "thinking",
    )
    looks: Annotated[
        dict[FooterSegment, FooterSegmentSettings],
        Meta(title="Footer colours", description="Colour of single footer parts, and when they are shown."),
    ] = {}  # noqa: RUF012  (a struct's: copied for each)
    header: Annotated[bool, Meta(title="Header", description="Show the header line.")] = True


class TerminalSettings(SettingsGroup, frozen=True, kw_only=True):
    """Terminal features that bayou uses."""

    hyperlinks: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            title="Terminal links",
            description="Write clickable links. `auto`: if the terminal supports them.",
        ),
    ] = "auto"
    true_color: Annotated[
        Literal["auto", "on", "off"],
        Meta(
            title="24-bit colours", description="Use 24-bit colours. `auto`: if the terminal supports them."
        ),
    ] = "auto"
    plain_marks: Annotated[
        bool,
        Meta(
            title="Plain marks",
            description="Replace marks that your font lacks (✓ ◐ ▸) by others that every font has; applies from the "
            "next start.",
        ),
    ] = False
    title: Annotated[
        bool, Meta(title="Window title", description="Show the session and its state in the window title.")
    ] = True
    progress: Annotated[
        bool,
        Meta(
            title="Progress in the tab",
            description="Report running work to the terminal (OSC 9;4), which may show it in its tab.",
        ),
    ] = False
    scroll_regions: Annotated[
        bool,
        Meta(
            title="Fast scrolling",
            description="Send only changed lines when the page scrolls; off repaints whole lines.",
        ),
    ] = True
    launch_frame: Annotated[
        bool,
        Meta(
            title="Fast first frame", description="Show the empty page of the last start while bayou loads."
        ),
    ] = True
    mouse: Annotated[
        bool, Meta(title="Mouse", description="Use the mouse in bayou; off leaves selection to the terminal.")
    ] = True


class NotificationSettings(SettingsGroup, frozen=True, kw_only=True):
    """Notifications while you look elsewhere."""

    method: Annotated[
        Literal["off", "bell", "osc9", "osc99", "osc777", "auto"],
        Meta(
            title="Notification method",
            description="How notifications are sent. `auto`: the way your terminal supports (kitty, iTerm2, "
            "WezTerm, Ghostty, VS Code, Windows Terminal, foot, rxvt), else the bell. The "
            "terminal must report its focus; in tmux: `set -g focus-events on`.",
        ),
    ] = "auto"
    on_done: Annotated[
        bool, Meta(title="Notify when done", description="Notify when the agent has finished.")
    ] = True
    on_question: Annotated[
        bool, Meta(title="Notify on questions", description="Notify when the agent waits for your answer.")
    ] = True
    only_unfocused: Annotated[
        bool,
        Meta(
            title="Only when unfocused", description="Notify only while the terminal window is not focused."
        ),
    ] = True
    min_seconds: Annotated[
        int,
        Meta(
            ge=0,
            title="Notify after",
            description="Do not notify about work shorter than this; repeat the notification of an open "
            "question after this time.",
        ),
    ] = 10
