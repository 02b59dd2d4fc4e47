"""The README tells the truth: keys are bound, links lead somewhere, the picture is there."""

import re
from urllib.parse import unquote

import pytest

from app.tui.app import BayouApp
from tests.architecture.sources import ROOT
from widgets.editor.editor_keys import EDITOR_KEYS

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def bound_keys() -> set[str]:
    keys: set[str] = set()
    for binding in (*BayouApp.BINDINGS, *EDITOR_KEYS.bindings):
        spelling = binding[0] if isinstance(binding, tuple) else binding.key
        keys.update(key.strip() for key in spelling.split(","))
    return keys


@pytest.mark.parametrize("key", re.findall(r"^\| `([^`]+)` \|", README, re.MULTILINE))
def test_every_key_is_bound(key: str):
    assert key in bound_keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    prose = CODE.sub("", page.read_text(encoding="utf-8"))
    targets = [unquote(target) for target in LINK.findall(prose)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_the_picture_is_there():
    assert re.search(r"!\[[^\]]+\]\(snapshots/[^)]+\.svg\)", README)
