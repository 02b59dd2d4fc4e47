"""The text of the prompt that asks for a review, and which command such a text was made for."""

import re

from tools.patterns import late

_GUIDE = (
    "Read the changed code, its surroundings and its callers; change nothing. Report what is wrong: "
    "mistakes, missed cases, broken callers, security, tests that are missing or cannot fail. For each: "
    "the file and line, what happens and when, and what would be right; the worst first. Say where you are "
    "not sure. No praise, no matters of taste. If nothing is wrong, say so in one line."
)
UNCOMMITTED = "is not committed here (`git diff HEAD` and new files)"
_PATTERN = late(
    r"(?:Review of [^\n]*\n\n)?Review what "
    rf"(?:{re.escape(UNCOMMITTED)}|was changed (?:since|by) (\S+) \(`git [^`]*`\)):\n\n"
)


def changed_since(revision: str) -> str:
    return f"was changed since {revision} (`git diff {revision}...HEAD`)"


def changed_by(revision: str) -> str:
    return f"was changed by {revision} (`git show {revision}`)"


def review_text(subject: str, what: str, files: str) -> str:
    """Returns the text of the prompt: its title with the branch or commit, what is asked, and the files. `what` names
    the changes in words."""
    return f"Review of {subject or 'uncommitted changes'}\n\nReview what {what}:\n\n{files}\n\n{_GUIDE}"


def typed_command(text: str) -> str:
    """Returns the command with which a person asked for a review; empty for other texts."""
    found = _PATTERN.match(text) if text.endswith(_GUIDE) else None
    return f"/review {found[1] or ''}".rstrip() if found is not None else ""
