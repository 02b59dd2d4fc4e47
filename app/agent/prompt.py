"""The system prompt as the model reads it: named sections in a fixed order. What is in them comes from outside."""

from collections.abc import Mapping

ORDER = (
    "preamble",
    "tools",
    "rules",
    "docs",
    "addendum",
    "project_context",
    "skills",
    "active_skills",
    "cwd",
)
"""Sections that are not named here follow, by name."""


def prompt_text(sections: Mapping[str, str]) -> str:
    """The sections as one text: the preamble as it is, each other one between tags of its name."""
    names = sorted(sections, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    parts: list[str] = []
    for name in names:
        text = sections[name].strip("\n")
        if text:
            parts.append(text if name == "preamble" else f"<{name}>\n{text}\n</{name}>")
    return "\n\n".join(parts)
