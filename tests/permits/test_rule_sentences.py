"""How a rule is offered on the approval card: in words, without the wildcards of its form."""

import pytest

from app.permits.sandbox_exceptions import describe_rule


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("bash: git status", "allow exactly `git status`"),
        ("bash: git status **", "allow `git status` with any arguments"),
        ("edit: src/a.py", "allow changing src/a.py"),
        ("edit: src/**", "allow changing any file in src/"),
        ("edit: **", "allow changing any file of this project"),
        ("read: src/**", "allow reading any file in src/"),
        ("tool: web_fetch", "allow the tool web_fetch"),
        ("tool: far_*", "allow every tool that begins with far_"),
        ("net: example.org:443", "allow reaching example.org:443"),
        ("net: *.example.org:443", "allow reaching any host of example.org:443"),
        ("sandbox.write: ~/notes", "allow writing ~/notes"),
        ("other: form", "allow other: form"),
    ],
)
def test_a_rule_is_described_as_a_sentence(rule: str, sentence: str) -> None:
    assert describe_rule(rule).words == sentence
