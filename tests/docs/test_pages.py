"""The pages of docs/ hang together: what they lead to is there, and the first page leads to each."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
_CODE = re.compile(r"(?s)```.*?```|`[^`\n]*`")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_what_a_page_leads_to_is_there(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    assert [link for link in _LINK.findall(text) if not (page.parent / unquote(link)).exists()] == []


def test_the_first_page_leads_to_every_other() -> None:
    first = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and f"({page.name}" not in first] == []
