"""Recognises notes: a single line after one `#`."""


def is_note(text: str) -> bool:
    """One line behind one `#`; a heading with more behind it is a prompt."""
    return (
        text.startswith("#")
        and not text.startswith("##")
        and "\n" not in text.strip()
        and bool(text[1:].strip())
    )
