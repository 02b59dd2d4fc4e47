"""A screen of its own: `/pick-prompt` shows the prompts of this session and puts the chosen one into the editor.

Textual is imported when the screen is made, so that the extension costs nothing in print and RPC, where a plain
choice takes the screen's place.
"""

from bayou import CommandContext, ExtensionApi, UserMessage, text_of


def extension(api: ExtensionApi) -> None:
    @api.command("pick-prompt", description="Takes up an earlier prompt of this session")
    async def pick(arguments: str, context: CommandContext) -> None:
        prompts = [
            text_of(message.content)
            for message in context.session.messages()
            if isinstance(message, UserMessage)
        ]
        if not prompts:
            context.ui.notify("There is no prompt yet.")
            return
        if context.mode == "tui":
            chosen = await context.ui.custom(lambda done: prompt_screen(prompts, done), overlay=True)
        else:
            chosen = await context.ui.select("Which prompt?", prompts)
        if chosen is not None:
            context.ui.set_editor_text(chosen)


def prompt_screen(prompts, done):
    """`done(value)` closes the screen and gives the value to whoever waits for it."""
    from textual.screen import ModalScreen  # noqa: PLC0415  (only the full screen has Textual)
    from textual.widgets import Footer, OptionList  # noqa: PLC0415  (as above)
    from textual.widgets.option_list import Option  # noqa: PLC0415  (as above)

    class PromptScreen(ModalScreen):
        CSS = "PromptScreen { align: center middle; } OptionList { width: 80%; height: 60%; }"
        BINDINGS = (("escape", "leave", "Close"),)

        def compose(self):
            # Prompts are data: markup=False, or `[red]` in one would be read as a colour.
            yield OptionList(*(Option(prompt.split("\n")[0]) for prompt in prompts), markup=False)
            yield Footer()

        def on_option_list_option_selected(self, event):
            done(prompts[event.option_index])

        def action_leave(self):
            done(None)

    return PromptScreen()
