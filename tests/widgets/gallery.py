"""Every screen and state of the widgets, as scenes that are photographed and asked questions."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from app.tui.features.models.screen import ModelScreen
from app.tui.features.settings.screen import SettingRow, SettingsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from app.tui.features.undo.screen import FileRestoreScreen, RestoreScreenRow
from tests.widgets.differences import differences, no_differences
from tests.widgets.gallery_of_lists import form, jobs, servers
from tests.widgets.host import Host
from tools.tool_result_values import Card, CommandBlock
from widgets.completion.command_completions import CommandCompletionSource, SlashCommandRow
from widgets.completion.completion_popup import CompletionPopup
from widgets.editor.editor_painting import EditorBorderText
from widgets.editor.prompt_chips import ImageAttachment, UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.lists.list_rows import ListRow, RowBadge
from widgets.lists.tree_rows import SessionTreeEntry
from widgets.screens.block import BlockScreen
from widgets.screens.common_pickers import (
    AppActionRow,
    ThemePickerScreen,
    command_palette_screen,
    key_bindings_screen,
    prompt_history_screen,
)
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen, TextEditScreen, TextInputDialog
from widgets.screens.picker import PickerScreen
from widgets.screens.preview_pane import PreviewParagraph, PreviewText, make_preview_text
from widgets.screens.text_pages import PageScreen
from widgets.status.approval import ApprovalBar
from widgets.status.approval_request import ApprovalCallPart, ApprovalRequest, ApprovalRule
from widgets.status.queue import QueuedMessageRow, QueueView
from widgets.status.status_footer import StatusFooter
from widgets.status.status_header import StatusHeader
from widgets.status.status_segments import StatusSegment
from widgets.transcript.transcript_blocks import ToolCallBlock

FOOTER = (
    StatusSegment(id="path", text="~/src/bayou", short="bayou", tone="text", importance=6),
    StatusSegment(id="git", text="main*", importance=5),
    StatusSegment(id="session", text="Fix the parser", importance=3),
    StatusSegment(id="tokens", text="↑12k ↓3.4k", importance=4),
    StatusSegment(id="cacheRead", text="R↑88k", importance=2),
    StatusSegment(id="cost", text="$0.12", importance=6),
    StatusSegment(id="context", text="71 % of 200k", bar=0.713, tone="warning", importance=8),
    StatusSegment(
        id="model",
        text="claude-sonnet-5 · high",
        short="sonnet-5",
        tone="accent",
        is_right=True,
        importance=9,
    ),
)
QUEUE = (
    QueuedMessageRow(id="1", kind="steer", text="use the other file [/foo], please"),
    QueuedMessageRow(id="2", kind="followUp", text="then run the tests\nand tell me", image_count=2),
)
COMMANDS = (
    SlashCommandRow(name="model", description="choose a model", argument_hint="[name]"),
    SlashCommandRow(
        name="thinking", description="how long to think before an answer", argument_hint="[level]"
    ),
    SlashCommandRow(name="tree", description="the session tree"),
    SlashCommandRow(name="fork", description="go on from an older prompt"),
    SlashCommandRow(name="theme", description="colours"),
)


def page(*extra: Widget) -> list[Widget]:
    text = Static("The transcript stands here.\n\nNothing of it is [bold]markup[/bold].", markup=False)
    text.styles.height = "1fr"
    return [
        StatusHeader([StatusSegment(id="name", text="bayou", tone="accent")]),
        text,
        *extra,
        StatusFooter(FOOTER),
    ]


def with_editor(prepare: Callable[[PromptEditor], None]) -> Callable[[str], Host]:
    def build(theme: str) -> Host:
        editor = PromptEditor(placeholder="Ask anything · / commands · @ files · ! shell")

        def start(app: Host) -> None:
            editor.focus()
            app.call_after_refresh(prepare, editor)

        return Host(lambda: page(editor), theme=theme, start=start)

    return build


ASKED = ApprovalRequest(
    id="1",
    tool="bash",
    question="Run this command?",
    text="cd web && npm ci && npm run build [/foo]",
    parts=(
        ApprovalCallPart(text="cd web", effect="reads", is_harmless=True),
        ApprovalCallPart(text="npm ci", effect="uses the network", is_harmless=False),
        ApprovalCallPart(text="npm run build [/foo]", effect="runs code of the project", is_harmless=False),
    ),
    effect="network",
    why="npm ci uses the network and may run scripts of packages",
    mode="ask",
    number=1,
    total=3,
    rules=(
        ApprovalRule(text="bash: npm ci", words="allow exactly `npm ci`", matched_questions=2),
        ApprovalRule(text="bash: npm **", words="allow `npm` with any arguments", matched_questions=7),
    ),
    earlier_questions=31,
)


def with_approval(theme: str) -> Host:
    bar = ApprovalBar(clock=lambda: 0.0)

    def start(app: Host) -> None:
        bar.show(ASKED)

    return Host(lambda: page(bar, PromptEditor()), theme=theme, start=start)


def with_rules_of_approval(theme: str) -> Host:
    bar = ApprovalBar(clock=lambda: 0.0)

    def start(app: Host) -> None:
        bar.show(ASKED)
        bar.arming.was_armed = True
        bar.focus_approval_card(lists_rules=True)

    return Host(lambda: page(bar, PromptEditor()), theme=theme, start=start)


def with_floor(theme: str) -> Host:
    bar = ApprovalBar(clock=lambda: 0.0)
    asked = ApprovalRequest(
        id="2",
        tool="bash",
        question="Run this command?",
        text="rm -rf ~/old-site && make clean",
        parts=(
            ApprovalCallPart(text="make clean", effect="runs code of the project", is_harmless=False),
            ApprovalCallPart(
                text="rm -rf ~/old-site",
                effect="removes ~/old-site, outside the workspace",
                is_harmless=False,
                is_dangerous=True,
            ),
        ),
        mode="full",
        confirmation_word="old-site",
    )

    def start(app: Host) -> None:
        bar.show(asked)

    return Host(lambda: page(bar, PromptEditor()), theme=theme, start=start)


def with_queue(theme: str) -> Host:
    queue = QueueView(QUEUE)

    def start(app: Host) -> None:
        queue.focus()

    return Host(lambda: page(queue, PromptEditor()), theme=theme, start=start)


def with_completions(theme: str) -> Host:
    editor = PromptEditor()
    popup = CompletionPopup(editor, [CommandCompletionSource(lambda: COMMANDS)])

    def start(app: Host) -> None:
        editor.focus()
        app.call_after_refresh(editor.insert, "/t")

    return Host(lambda: page(popup, editor), theme=theme, start=start)


def on_screen(make: Callable[[], Screen[Any]]) -> Callable[[str], Host]:
    def build(theme: str) -> Host:
        def start(app: Host) -> None:
            app.push_screen(make())

        return Host(lambda: page(PromptEditor()), theme=theme, start=start)

    return build


def editing(editor: PromptEditor) -> None:
    editor.surface.show_thinking_level("high")
    editor.surface.show_border_text(EditorBorderText("bash make test", "12 s", "◐", "esc stop"))
    editor.insert("Look at ")
    editor.attach_image(
        ImageAttachment(name="shot.png", mime_type="image/png", byte_count=48_000, width=800, height=600)
    )
    editor.insert(" and at 漢字 👩‍🚀, then explain what this log says about the parser: ")
    editor.paste("line\n" * 120)


def scrolled(editor: PromptEditor) -> None:
    editor.set_text("\n".join(f"line {number} of a longer thought" for number in range(40)))
    for _ in range(4):
        editor.keyboard.move_up_or_show_older_prompt()


def models() -> list[ListRow]:
    names = ("claude-sonnet-5", "claude-opus-5", "gpt-6", "gpt-6-mini", "qwen3-coder", "llama-4", "offline")
    return [
        ListRow(
            id=name,
            title=name,
            detail=("200k" if number % 2 else "1M") + " context",
            badges=(RowBadge(text="thinking", tone="success"),)
            if number % 3
            else (RowBadge(text="no key", tone="warning"),),
            right=f"${number}.00/${number * 5}.00",
            is_checked=number == 1,
            is_disabled=number == 5,
        )
        for number, name in enumerate(names)
    ]


def model_preview(row: ListRow) -> PreviewText:
    return make_preview_text(
        row.title, f"{row.detail}\n\nPrice per million tokens: {row.right}", "Reads text and images."
    )


def picker() -> PickerScreen:
    return ModelScreen(models(), query="cl o", preview=model_preview)


def empty_picker() -> PickerScreen:
    return PickerScreen("Model", models(), query="zzz")


def entries(count: int = 12) -> list[SessionTreeEntry]:
    found = [SessionTreeEntry(id="e0", kind="user", text="What does this project do?", time="09:00")]
    for number in range(1, count):
        parent = f"e{number - 1}"
        if number in (6, 9):
            parent = "e3"
        badges = (RowBadge(text="+12 −3", tone="success"), RowBadge(text="$0.02")) if number % 4 == 1 else ()
        found.append(
            SessionTreeEntry(
                id=f"e{number}",
                parent=parent,
                kind="user" if number % 3 == 0 else "assistant" if number % 3 == 1 else "tool",
                text=f"{('Try another way', 'It parses', 'Reading files')[number % 3]} ({number})",
                label="good" if number == 4 else "",
                time=f"09:{number:02}",
                badges=badges,
            )
        )
    return found


def tree() -> SessionTreeScreen:
    return SessionTreeScreen(
        entries(),
        leaf="e11",
        preview=lambda entry_id: make_preview_text(entry_id, "The whole text of this entry.\n[/] as it is."),
    )


def settings() -> list[SettingRow]:
    return [
        SettingRow(
            id="defaultThinkingLevel",
            group="Model",
            value="high",
            default="medium",
            choices=("off", "low", "medium", "high"),
            help="How long the model thinks before it answers.",
            origin="project",
        ),
        SettingRow(
            id="retry.maxRetries",
            group="Model",
            value="3",
            default="3",
            help="Tries after a failure.",
            origin="default",
        ),
        SettingRow(
            id="animations",
            group="Display",
            value="on",
            default="on",
            choices=("on", "reduced", "off"),
            help="Spinners.",
            origin="default",
        ),
        SettingRow(
            id="theme",
            group="Display",
            value="bayou-dark",
            default="system",
            help="Colours.",
            is_fixed=True,
            origin="--theme",
        ),
    ]


ACTIONS = (
    AppActionRow(id="app.model.select", title="Choose a model", keys=("ctrl+l",), group="Model"),
    AppActionRow(
        id="app.thinking.cycle",
        title="Next thinking level",
        keys=("shift+tab",),
        group="Model",
        is_own=True,
    ),
    AppActionRow(
        id="tui.editor.jumpForward",
        title="To the next character",
        keys=("ctrl+right_square_bracket",),
        group="Editor",
        problem="also app.page.down",
    ),
    AppActionRow(id="app.session.new", title="New session", group="Session"),
)
HISTORY = (UnsentPrompt(text="fix the parser\nand its tests"), UnsentPrompt(text="why is it slow?"))


def question() -> QuestionScreen:
    text = PreviewText(
        parts=(
            PreviewParagraph(text="$ rm -rf build && make"),
            PreviewParagraph(text="rm -rf build   deletes inside the project", tone="warning"),
            PreviewParagraph(text="make           allowed", tone="success"),
        )
    )
    answers = [
        ListRow(id="once", title="Yes, this once"),
        ListRow(id="always", title="Yes, always for `rm -rf build`"),
        ListRow(id="no", title="No, and say why"),
    ]
    return QuestionScreen("May this run?", text, answers)


def themes(use: Callable[[str], str | None] = lambda name: None) -> ThemePickerScreen:
    rows = [ListRow(id=name, title=name, detail="built in") for name in ("bayou-dark", "bayou-light", "nord")]
    return ThemePickerScreen(rows, "bayou-dark", use)


def block_in_full() -> BlockScreen:
    blocks = (
        CommandBlock(
            command="pytest -q",
            output="\n".join(
                f"tests/test_parser.py::test_{number} \x1b[32mPASSED\x1b[0m" for number in range(60)
            ),
            exit_code=0,
        ),
    )
    card = ToolCallBlock(id="c", card=Card(title="bash", subject="pytest -q", blocks=blocks), timing="8 s")
    return BlockScreen("In full", lambda: card)


def compare() -> PageScreen:
    left = PreviewText(
        title="this branch", parts=(PreviewParagraph(text="Use a table.\n\n+12 −3 parser.py"),)
    )
    right = PreviewText(
        title="the other", parts=(PreviewParagraph(text="Use recursion.\n\n+40 −9 parser.py"),)
    )
    return PageScreen("Two branches", left, right, note="they part at “Try another way”")


def changes() -> FileRestoreScreen:
    rows = (
        RestoreScreenRow(
            path="README.md",
            change="changes",
            why="you changed it since",
            changed_by="edit",
            line_counts="+2 −1",
            choices=("restore", "merge", "keep"),
            is_conflict=True,
        ),
        RestoreScreenRow(
            path="src/parser.py",
            change="changes",
            changed_by="write, 2 × edit",
            line_counts="+12 −40",
            choices=("restore", "keep"),
            choice="restore",
        ),
        RestoreScreenRow(
            path="src/old_parser.py",
            change="will be restored",
            why="was renamed to src/parser_2.py",
            changed_by="bash",
            choices=("restore", "keep"),
            choice="restore",
        ),
        RestoreScreenRow(
            path="tests/test_x.py",
            change="is removed",
            changed_by="write",
            line_counts="−30",
            choices=("restore", "keep"),
            choice="keep",
        ),
        RestoreScreenRow(path="build/", change="stays", why="its contents are not stored"),
    )
    diff = "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,4 @@\n A parser.\n-Fast.\n+It parses.\n+It is slow.\n End.\n"
    return FileRestoreScreen(
        "Restore to before “rename the parser”",
        rows,
        figures="5 files +14 −71",
        diff=lambda path, choice: diff if path == "README.md" else "",
    )


SCENES: dict[str, Callable[[str], Host]] = {
    "start": with_editor(lambda editor: None),
    "editing": with_editor(editing),
    "scrolled": with_editor(scrolled),
    "shell": with_editor(lambda editor: editor.insert("!git status")),
    "queue": with_queue,
    "approval": with_approval,
    "approval-rules": with_rules_of_approval,
    "approval-floor": with_floor,
    "completions": with_completions,
    "picker": on_screen(picker),
    "picker-empty": on_screen(empty_picker),
    "servers": on_screen(servers),
    "form": on_screen(form),
    "tree": on_screen(tree),
    "settings": on_screen(lambda: SettingsScreen(settings())),
    "themes": on_screen(themes),
    "palette": on_screen(lambda: command_palette_screen(ACTIONS)),
    "hotkeys": on_screen(lambda: key_bindings_screen(ACTIONS)),
    "history": on_screen(lambda: prompt_history_screen(HISTORY)),
    "question": on_screen(question),
    "confirm": on_screen(
        lambda: ConfirmScreen("Delete this session?", "It goes to the trash.", is_dangerous=True)
    ),
    "input": on_screen(lambda: TextInputDialog("Name of the session", prefill="Fix the parser")),
    "secret": on_screen(
        lambda: TextInputDialog("API key", "It is kept in auth.json.", prefill="sk-123", is_secret=True)
    ),
    "text": on_screen(lambda: TextEditScreen("Instructions for the summary", prefill="Keep the file names.")),
    "differences": on_screen(differences),
    "differences-none": on_screen(no_differences),
    "jobs": on_screen(jobs),
    "block": on_screen(block_in_full),
    "compare": on_screen(compare),
    "changes": on_screen(changes),
}


def scene(name: str, theme: str) -> Host:
    return SCENES[name](theme)
