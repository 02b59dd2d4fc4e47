"""Recognises notes: a single line after one `#`."""


def is_note(text: str) -> bool:
    """Returns whether the text is a note: one line after one `#`. A heading followed by more lines is
    a prompt."""
    return (
        text.startswith("#")
        and not text.startswith("##")
        and "\n" not in text.strip()
        and bool(text[1:].strip())
    )
