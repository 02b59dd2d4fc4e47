"""Settings of what people see and do. Each look is taken twice of one page, the setting changed in between."""

import asyncio
import base64
import contextlib
import io
from typing import Any

from PIL import Image as Picture
from textual.events import MouseScrollUp, Paste
from textual.pilot import Pilot

from app.providers.scripted import call, say, think
from app.tui.features.tree.feature import SESSION_TREE_FEATURE
from app.tui.run import print_closing_message
from app.values.events import MessageEnd
from app.values.messages import AssistantMessage
from app.values.todos import TodoItem, TodoPhase
from app.values.usage import Usage
from tests.settings.cases import Cases
from tests.tui.scripted_app import ScriptedApp, submit, wait_for_runs
from tests.widgets.typing import type_text
from tools.tool_result_values import ImageBlock
from widgets.completion.completion_popup import CompletionPopup
from widgets.graphics import kitty
from widgets.transcript.transcript_blocks import UserPromptBlock

ON_SCREEN = Cases()
DIAGRAM = "```mermaid\ngraph LR\nHarbour --> Sea\n```\n"


class Seat:
    """A person at the page."""

    def __init__(self, app: ScriptedApp, pilot: Pilot[int], written: list[str]) -> None:
        """`written`: sequences for the terminal, which there is none of."""
        self.app = app
        self.pilot = pilot
        self.runs = 0
        self.written = written

    async def prompt(self, text: str, *responses: Any) -> None:
        script = self.app.script_of_test  # pyright: ignore[reportAttributeAccessIssue]
        script.responses[:] = [*responses, say("ok")]
        self.runs += 1
        await submit(self.app, self.pilot, text)
        await wait_for_runs(self.app, self.pilot, self.runs)

    def set(self, name: str, value: Any) -> None:
        effective_settings = self.app.assembled.effective_settings
        if value is None:
            effective_settings.reset(name)
        else:
            effective_settings.save_value(name, value)

    def escapes(self) -> str:
        text = "".join(self.written)
        self.written.clear()
        return text


@ON_SCREEN.add("theme", "bayou-dark", "bayou-light")
async def theme(seat: Seat) -> Any:
    return seat.app.theme


@ON_SCREEN.add("hideThinkingBlock", True, False)
async def thinking(seat: Seat) -> Any:
    await seat.prompt("go", think("the tide is low") + say("Wait."))
    return "the tide is low" in seat.app.screen_text


@ON_SCREEN.add("animations", "on", "off")
async def animations(seat: Seat) -> Any:
    return seat.app.animation_level


@ON_SCREEN.add("cursorBlink", False, True)
async def blinking(seat: Seat) -> Any:
    """The shape of the cursor that is asked for when the editor is gone to."""
    seat.escapes()
    seat.app.transcript.focus()
    await seat.pilot.pause()
    seat.app.editor.focus()
    await seat.pilot.pause()
    return seat.app.editor.surface._is_caret_blinking


@ON_SCREEN.add("sidePanel", False, True)
async def right_third(seat: Seat) -> Any:
    await seat.app.session.todos.replace_by_user([TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))])
    await seat.pilot.resize_terminal(120, 40)
    await seat.pilot.pause()
    return seat.app.page.side_panel.display


@ON_SCREEN.add("fullscreenScrollbar", "auto", "hidden")
async def scroll_bar(seat: Seat) -> Any:
    await seat.pilot.pause()
    return seat.app.transcript.styles.scrollbar_size_vertical


@ON_SCREEN.add("fullscreenCopyOnSelect", True, False)
async def copying(seat: Seat) -> Any:
    copied: list[str] = []
    seat.app.terminal.clipboard.copy = lambda text, what: copied.append(text)
    await seat.prompt("go", say("harbour"))
    rows = [y for y, line in enumerate(seat.app.screen_text.splitlines()) if "harbour" in line]
    await seat.pilot.click(offset=(5, rows[-1]), times=2)
    await seat.pilot.pause()
    return bool(copied)


@ON_SCREEN.add("fullscreenWheelScrollLines", 1, 9)
async def wheel(seat: Seat) -> Any:
    await seat.prompt("go", say("\n\n".join(f"line {number}" for number in range(90))))
    before = seat.app.transcript.scroll_offset.y
    await seat.pilot._post_mouse_events([MouseScrollUp], widget=seat.app.transcript, button=0)
    await seat.pilot.pause()
    return before - seat.app.transcript.scroll_offset.y


@ON_SCREEN.add("expandTools", "never", "always")
async def cards(seat: Seat) -> Any:
    await seat.prompt("go", call("bash", command="echo $((40 + 2)) boats"))
    return "42 boats" in seat.app.screen_text


@ON_SCREEN.add("markdown.mermaid", "off", "final")
async def diagrams(seat: Seat) -> Any:
    await seat.prompt("go", say(DIAGRAM))
    return "graph LR" in seat.app.screen_text


@ON_SCREEN.add("images.blockImages", False, True)
async def images(seat: Seat) -> Any:
    path = seat.app.session.cwd / "boat.png"
    Picture.new("RGB", (4, 4)).save(path)
    seat.app.editor.clear()
    seat.app.editor.post_message(Paste(str(path)))
    await seat.app.settling_until(seat.pilot, lambda: bool(seat.app.editor.attachments))
    before = len(seat.app.session.messages)
    seat.app.script_of_test.responses[:] = [say("ok")]  # pyright: ignore[reportAttributeAccessIssue]
    await seat.pilot.press("enter")
    async with asyncio.timeout(10):
        while len(seat.app.session.messages) < before + 2 and "blockImages" not in seat.app.screen_text:
            await seat.pilot.pause()
    return "blockImages" in seat.app.screen_text


@ON_SCREEN.add("images.protocol", "kitty", "blocks")
async def drawn_images(seat: Seat) -> Any:
    """By cells that stand for the image, or as half blocks; one that is in sight is drawn anew at once."""
    out = io.BytesIO()
    Picture.new("RGB", (40, 20), "#3060c0").save(out, "PNG")
    image = ImageBlock(
        mime_type="image/png",
        byte_count=90,
        data=base64.b64encode(out.getvalue()).decode(),
        width=40,
        height=20,
    )
    if seat.app.transcript.find_block("boat") is None:
        seat.app.transcript.add(UserPromptBlock(id="boat", text="boat", images=(image,)))
    await seat.pilot.pause()
    await asyncio.gather(*seat.app.transcript.painter.thumbnails.tasks.values())
    await seat.pilot.pause()
    return kitty.KITTY_PLACEHOLDER_CHARACTER in seat.app.screen_text


@ON_SCREEN.add("editorPaddingX", 0, 3)
async def padding(seat: Seat) -> Any:
    seat.app.editor.set_text("anchor")
    await seat.pilot.pause()
    line = next(line for line in seat.app.screen_text.splitlines() if "anchor" in line)
    seat.app.editor.clear()
    return line.index("anchor")


@ON_SCREEN.add("autocompleteMaxVisible", 3, 9)
async def completions(seat: Seat) -> Any:
    popup = seat.app.query_one(CompletionPopup)
    seat.app.editor.focus()
    await type_text(seat.pilot, "/")
    await seat.app.settling_until(seat.pilot, lambda: popup.is_open and popup.size.height > 2)
    height = popup.size.height
    seat.app.editor.clear()
    await seat.pilot.press("escape")
    return height


@ON_SCREEN.add("pasteChipLines", 10, 2)
async def chips(seat: Seat) -> Any:
    seat.app.editor.clear()
    seat.app.editor.paste("one\ntwo\nthree\nfour")
    await seat.pilot.pause()
    is_chip = "four" not in seat.app.screen_text
    seat.app.editor.clear()
    return is_chip


@ON_SCREEN.add("viMode", False, True)
async def modes(seat: Seat) -> Any:
    """Letters are commands behind Escape."""
    seat.app.editor.reset()
    await seat.pilot.press(*"boat", "escape", "x")
    text = seat.app.editor.text
    seat.app.editor.reset()
    return text


@ON_SCREEN.add("historySize", 1000, 1)
async def history(seat: Seat) -> Any:
    for text in ("first", "second", "third"):
        await seat.prompt(text)
    await seat.pilot.press("up", "up")
    text = seat.app.editor.text
    seat.app.editor.clear()
    return text


@ON_SCREEN.add("footer.segments", ["path"], ["model"])
async def footer(seat: Seat) -> Any:
    await seat.pilot.pause()
    return seat.app.screen_text.splitlines()[-1].strip()


@ON_SCREEN.add("footer.looks", {"thinking": {"show": "always"}}, {"thinking": {"show": "running"}})
async def footer_looks(seat: Seat) -> Any:
    await seat.pilot.pause()
    return seat.app.screen_text.splitlines()[-1].strip()


@ON_SCREEN.add("footer.header", True, False)
async def header(seat: Seat) -> Any:
    await seat.pilot.pause()
    return seat.app.page.header.display


@ON_SCREEN.add("quietStartup", False, "header")
async def quiet(seat: Seat) -> Any:
    await seat.pilot.pause()
    return seat.app.page.header.display


@ON_SCREEN.add("terminal.hyperlinks", "on", "off")
async def links(seat: Seat) -> Any:
    await seat.prompt("go", say("see [the pier](https://pier.test)"))
    strips = seat.app.screen._compositor.render_strips()
    return any(segment.style is not None and segment.style.link for strip in strips for segment in strip)


@ON_SCREEN.add("terminal.title", True, False)
async def title(seat: Seat) -> Any:
    seat.escapes()
    await seat.prompt("go")
    return "\x1b]0;" in seat.escapes() or "\x1b]2;" in seat.escapes()


@ON_SCREEN.add("terminal.progress", False, True)
async def progress(seat: Seat) -> Any:
    seat.escapes()
    await seat.prompt("go")
    return "\x1b]9;4;" in seat.escapes()


ALWAYS = {
    "notifications.method": "bell",
    "notifications.minSeconds": 0,
    "notifications.onlyUnfocused": False,
    "terminal.title": False,
}


async def rings(seat: Seat) -> bool:
    seat.escapes()
    await seat.prompt("go")
    return "\x07" in seat.escapes()


@ON_SCREEN.add("notifications.method", "bell", "off", ALWAYS)
async def method(seat: Seat) -> Any:
    return await rings(seat)


@ON_SCREEN.add("notifications.onDone", True, False, ALWAYS)
async def done(seat: Seat) -> Any:
    return await rings(seat)


@ON_SCREEN.add("notifications.minSeconds", 0, 100, ALWAYS)
async def soon(seat: Seat) -> Any:
    return await rings(seat)


@ON_SCREEN.add("notifications.onlyUnfocused", False, True, ALWAYS)
async def unfocused(seat: Seat) -> Any:
    return await rings(seat)


@ON_SCREEN.add("notifications.onQuestion", True, False, ALWAYS)
async def question(seat: Seat) -> Any:
    seat.escapes()
    seat.app.terminal.notifications.notify_question("Which pier?")
    return "\x07" in seat.escapes()


@ON_SCREEN.add("externalEditor", "one-editor", "two-editor")
async def editor(seat: Seat) -> Any:
    """Neither editor exists; the error names it."""
    seat.app.suspend = contextlib.nullcontext  # pyright: ignore[reportAttributeAccessIssue]  (no terminal to lend)
    await seat.pilot.press("ctrl+g")
    await seat.pilot.pause()
    return "two-editor" in seat.app.screen_text


@ON_SCREEN.add("doubleEscapeAction", "none", "tree")
async def escapes(seat: Seat) -> Any:
    await seat.prompt("go")
    seat.app.clock = lambda: 100.0 * seat.runs  # long after the look before
    await seat.pilot.press("escape", "escape")
    await seat.pilot.pause()
    return await left(seat)


@ON_SCREEN.add("ctrlCStops", False, True)
async def interrupts(seat: Seat) -> Any:
    await seat.app.is_ready.wait()
    await submit(seat.app, seat.pilot, "! sleep 30")
    await seat.app.settling_until(seat.pilot, lambda: seat.app.session.state.is_busy)
    seat.app.time.now += 60  # an earlier press is no first one of two
    await seat.pilot.press("ctrl+c")
    for _ in range(20):
        await seat.pilot.pause(0.05)
    is_stopped = not seat.app.session.state.is_busy
    await seat.app.session.abort()
    await seat.app.settling_until(seat.pilot, lambda: not seat.app.session.state.is_busy)
    return is_stopped


@ON_SCREEN.add("treeFilterMode", "default", "all")
async def tree_filter(seat: Seat) -> Any:
    await seat.prompt("go")
    await submit(seat.app, seat.pilot, "/tree")
    await seat.app.settling_until(seat.pilot, lambda: len(seat.app.screen_stack) > 1)
    await seat.pilot.pause()
    shown = seat.app.screen.filter  # pyright: ignore[reportAttributeAccessIssue]
    await left(seat)
    return shown


async def left(seat: Seat) -> bool:
    """Whether another screen stands over the page; it is closed."""
    is_over = len(seat.app.screen_stack) > 1
    if is_over:
        await seat.pilot.press("escape")
        await seat.pilot.pause()
    return is_over


@ON_SCREEN.add("branchSummary.skipPrompt", False, True)
async def asked_for_a_summary(seat: Seat) -> Any:
    await seat.prompt("one")
    first = seat.app.session.log.entries[-1].id
    await seat.prompt("two")
    work = asyncio.ensure_future(seat.app.feature_register.page(SESSION_TREE_FEATURE).move_to_entry(first))
    async with asyncio.timeout(10):
        while not work.done() and len(seat.app.screen_stack) == 1:
            await seat.pilot.pause()
    is_asked = not work.done()
    if is_asked:
        await seat.pilot.press("escape")
        await asyncio.wait([work], timeout=5)
    return is_asked


@ON_SCREEN.add("showCacheMissNotices", False, True)
async def cache_miss(seat: Seat) -> Any:
    usage = Usage(input=90_000, cache_read=90_000, total_tokens=180_000)
    missed = Usage(input=180_000, total_tokens=180_000)
    before = seat.app.screen_text
    for one in (usage, missed):
        message = AssistantMessage(usage=one, stop_reason="stop", provider="scripted", model="script")
        seat.app.feature_register.handle_event(MessageEnd(message=message))
    await seat.pilot.pause()
    return seat.app.screen_text != before


@ON_SCREEN.add("fullscreenExitOutput", "last-answer", "resume-hint")
async def goodbye(seat: Seat) -> Any:
    await seat.prompt("go", say("The answer."))
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        print_closing_message(seat.app.assembled)
    return said.getvalue()
