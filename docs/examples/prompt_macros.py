"""Short forms in prompts: `?why …` asks for an explanation without changes, `!!tests` stands for a whole sentence.

Also completes them in the editor.
"""

from bayou import Completion, Context, ExtensionApi, Input, InputAnswer

MACROS = {
    "?why": "Explain, without changing anything:",
    "!!tests": "Run the tests, and when some fail, find out why before you change anything.",
}


def extension(api: ExtensionApi) -> None:
    @api.on("input")
    def expand(event: Input, context: Context) -> InputAnswer | None:
        word, _, rest = event.text.strip().partition(" ")
        if word not in MACROS:
            return None
        return InputAnswer(action="transform", text=f"{MACROS[word]} {rest}".strip())

    @api.autocomplete
    def complete(text: str, cursor: int) -> list[Completion]:
        word = text[:cursor]
        return [
            Completion(value=name, description=meaning)
            for name, meaning in MACROS.items()
            if word and " " not in word and name.startswith(word)
        ]
