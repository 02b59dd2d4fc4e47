"""Answers that show a part of the interface."""

MARKDOWN = """# A heading

A paragraph with **bold**, *italic*, `code` and a [link](https://example.org). Markup such as [bold red] or <b> is \
only text here.

1. A numbered item
2. Another, with
   - an item of its own
   - and one more

> A quotation, of two lines
> at most.

| Column | Number |
|---|---:|
| alpha | 1 |
| beta | 22 |

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"  # highlighted
```

---

Wide characters: 你好, 한국어, 🙂, and a combining e\u0301."""


def long_text(paragraphs: int = 40) -> str:
    return "\n\n".join(
        f"## Part {number}\n\n"
        f"Paragraph {number} of {paragraphs}. It is here so that there is something to scroll, to search and to stop: "
        "Escape ends an answer while it is being written, and what had arrived stays."
        for number in range(1, paragraphs + 1)
    )


ERROR = "The offline guide failed because you asked for it (demo error). Nothing is wrong."
"""How the answer to `demo error` ends."""
