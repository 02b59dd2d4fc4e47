"""The text of the prompt that asks for a review, and which command such a text was made for."""

import re

from tools.lazy_patterns import lazy_regex

_REVIEW_INSTRUCTIONS = (
    "Read the changed code, its surroundings and its callers; change nothing. Report what is wrong: "
    "mistakes, missed cases, broken callers, security, tests that are missing or cannot fail. For each: "
    "the file and line, what happens and when, and what would be right; the worst first. Say where you are "
    "not sure. No praise, no matters of taste. If nothing is wrong, say so in one line."
)
UNCOMMITTED_CHANGES_PHRASE = "is not committed here (`git diff HEAD` and new files)"
_REVIEW_PROMPT_PATTERN = lazy_regex(
    r"(?:Review of [^\n]*\n\n)?Review what "
    rf"(?:{re.escape(UNCOMMITTED_CHANGES_PHRASE)}|was changed (?:since|by) (\S+) \(`git [^`]*`\)):\n\n"
)


def changed_since_phrase(revision: str) -> str:
    return f"was changed since {revision} (`git diff {revision}...HEAD`)"


def changed_by_phrase(revision: str) -> str:
    return f"was changed by {revision} (`git show {revision}`)"


def code_review_prompt_text(subject: str, what: str, files: str) -> str:
    """Returns the text of the prompt: its title with the branch or commit, what is asked, and the files. `what` names
    the changes in words."""
    return f"Review of {subject or 'uncommitted changes'}\n\nReview what {what}:\n\n{files}\n\n{_REVIEW_INSTRUCTIONS}"


def review_command_of_prompt(text: str) -> str:
    """Returns the command with which a person asked for a review; empty for other texts."""
    found = _REVIEW_PROMPT_PATTERN.match(text) if text.endswith(_REVIEW_INSTRUCTIONS) else None
    return f"/review {found[1] or ''}".rstrip() if found is not None else ""
