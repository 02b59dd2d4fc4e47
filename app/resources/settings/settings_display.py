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
    "host",
    "sessionId",
]
SegmentTone = Literal["text", "muted", "dim", "accent", "success", "warning", "error"]


class DisplaySettings(SettingsGroup, frozen=True, kw_only=True):
    """The transcript and what stands around it."""

    theme: Annotated[
        str,
        Meta(
            description="Theme name, or a `light/dark` pair; `system` asks the terminal which of bayou's own fits."
        ),
    ] = "system"
    quiet_startup: Annotated[
        bool | Literal["header"],
        Meta(description="Hide the welcome; `header` hides the header too."),
    ] = False
    hide_thinking_block: Annotated[
        bool, Meta(description="Show thinking as one line that can be opened; off shows all of it.")
    ] = True
    animations: Annotated[
        Literal["on", "reduced", "off"],
        Meta(description="Smooth scrolling, a blinking cursor, a mark that turns while something runs."),
    ] = "on"
    cursor_blink: Annotated[
        bool, Meta(description="A blinking cursor; it costs wake-ups while nothing happens.")
    ] = False
    fullscreen_exit_output: Annotated[
        Literal["transcript", "resume-hint", "last-answer"],
        Meta(description="What is left on the terminal after quitting."),
    ] = "last-answer"
    fullscreen_scrollbar: Annotated[
        Literal["auto", "hidden"], Meta(description="Whether there is a scroll bar.")
    ] = "auto"
    fullscreen_copy_on_select: Annotated[bool, Meta(description="Copy what the mouse selects.")] = True
    fullscreen_wheel_scroll_lines: Annotated[
        int, Meta(ge=1, le=100, description="Lines per step of the wheel.")
    ] = 3
    side_panel: Annotated[
        bool,
        Meta(description="Changed files, todos and jobs in the right third, from 120 columns on."),
    ] = False
    expand_tools: Annotated[
        Literal["never", "errors", "edits", "always"],
        Meta(
            description="Which tool cards open by themselves: none, failed ones and commands at work, changes too, all."
        ),
    ] = "edits"


class MarkdownSettings(SettingsGroup, frozen=True, kw_only=True):
    """How answers are drawn."""

    mermaid: Annotated[
        Literal["streaming", "final", "off"],
        Meta(description="Draw Mermaid diagrams as text: at once, when complete, never."),
    ] = "final"


class ImageSettings(SettingsGroup, frozen=True, kw_only=True):
    """Images on the page and on their way to the model."""

    auto_resize: Annotated[bool, Meta(description="Scale images down to what providers accept.")] = True
    block_images: Annotated[bool, Meta(description="Never send an image.")] = False
    protocol: Annotated[
        Literal["auto", "kitty", "iterm2", "sixel", "blocks"],
        Meta(
            description="How the terminal draws images; `auto`: as it says that it can, `blocks`: as half blocks."
        ),
    ] = "auto"


class EditorSettings(SettingsGroup, frozen=True, kw_only=True):
    """Where prompts are written."""

    editor_padding_x: Annotated[int, Meta(ge=0, le=3, description="Columns left free inside the editor.")] = 0
    autocomplete_max_visible: Annotated[
        int, Meta(ge=3, le=20, description="Rows of the completion list.")
    ] = 8
    vi_mode: Annotated[
        bool, Meta(description="Prompts are written with vi's modes: normal, insert and visual.")
    ] = False
    paste_chip_lines: Annotated[
        int, Meta(ge=2, description="A paste with more lines becomes a chip that can be opened.")
    ] = 10
    history_size: Annotated[int, Meta(ge=0, le=100_000, description="Prompts kept per project.")] = 1000


class SegmentLook(SettingsGroup, frozen=True, kw_only=True):
    """How one segment of the footer is shown, where it is not as usual."""

    tone: Annotated[SegmentTone | None, Meta(description="Its colour; null: the usual one.")] = None
    show: Annotated[
        Literal["always", "running", "idle", "wide"],
        Meta(description="When: always, while the agent works, while it does not, from 120 columns on."),
    ] = "always"


class FooterSettings(SettingsGroup, frozen=True, kw_only=True):
    """Header and footer."""

    segments: Annotated[
        tuple[FooterSegment, ...],
        Meta(
            description="What the footer shows, in this order; what does not fit is left out from the least important."
        ),
    ] = (
        "path",
        "git",
        "session",
        "tokens",
        "cacheRead",
        "cacheWrite",
        "cacheHit",
        "cost",
        "context",
        "queue",
        "jobs",
        "indexing",
        "permissions",
        "model",
        "thinking",
    )
    looks: Annotated[
        dict[FooterSegment, SegmentLook],
        Meta(description="Colour of single segments and when they show, by their name."),
    ] = {}  # noqa: RUF012  (a struct's: copied for each)
    header: Annotated[bool, Meta(description="Show the header line.")] = True


class TerminalSettings(SettingsGroup, frozen=True, kw_only=True):
    """What bayou may ask of the terminal."""

    hyperlinks: Annotated[
        Literal["auto", "on", "off"],
        Meta(description="Write links that the terminal can open; `auto`: where it can."),
    ] = "auto"
    true_color: Annotated[Literal["auto", "on", "off"], Meta(description="Use 24-bit colours.")] = "auto"
    title: Annotated[bool, Meta(description="Put session and state into the window title.")] = True
    progress: Annotated[bool, Meta(description="Tell the terminal that work is going on (OSC 9;4).")] = False
    scroll_regions: Annotated[
        bool, Meta(description="Send only what changed when the page scrolls; off repaints whole lines.")
    ] = True
    launch_frame: Annotated[
        bool,
        Meta(
            description="Show the empty page at once, as the last start drew it, while bayou is still loading."
        ),
    ] = True
    mouse: Annotated[bool, Meta(description="Take mouse events; off leaves selection to the terminal.")] = (
        True
    )


class NotificationSettings(SettingsGroup, frozen=True, kw_only=True):
    """Telling a person who looks elsewhere."""

    method: Annotated[
        Literal["off", "bell", "osc9", "osc99", "osc777", "auto"],
        Meta(
            description="How to notify. `auto`: as the terminal is known to understand (kitty, iTerm2, WezTerm, "
            "Ghostty, VS Code, Windows Terminal, foot, rxvt), else the bell. It needs a terminal that tells when one "
            "looks elsewhere; in tmux that is `set -g focus-events on`."
        ),
    ] = "auto"
    on_done: Annotated[bool, Meta(description="When the agent has finished.")] = True
    on_question: Annotated[bool, Meta(description="When something has to be decided.")] = True
    only_unfocused: Annotated[bool, Meta(description="Only while the terminal is not in front.")] = True
    min_seconds: Annotated[
        int,
        Meta(
            ge=0,
            description="Not for work that took less; and after so long again for a question that one left open. Ten "
            "seconds: for less nobody changes the window and comes back.",
        ),
    ] = 10
