"""The links of docs/ work, the index has every page, and the settings that pages name exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
_CODE = re.compile(r"(?s)```.*?```|`[^`\n]*`")


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_of_a_page_exist(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    assert [link for link in _LINK.findall(text) if not (page.parent / unquote(link)).exists()] == []


def test_the_index_links_to_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and f"({page.name}" not in index] == []


def test_every_page_starts_with_its_purpose_and_an_example() -> None:
    """A code block, a command or a table within the first screen."""
    without = []
    for page in PAGES:
        title, purpose, *lines = [one for one in page.read_text(encoding="utf-8").splitlines() if one]
        assert title.startswith("# ") and purpose[0] not in "#|-", page.name
        if not any(one.startswith(("    ", "```", "| ", "- [")) for one in lines[:12]):
            without.append(page.name)
    assert without == []


def settings() -> set[str]:
    """The names of all settings, as the schema has them."""

    def named(group: dict[str, Any], before: str = "") -> Iterator[str]:
        for name, value in (group.get("properties") or {}).items():
            yield before + name
            yield from named(value, f"{before}{name}.")

    return set(named(json.loads((ROOT / "docs" / "settings.schema.json").read_text(encoding="utf-8"))))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_settings_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [
        name for name in re.findall(r"[Ss]ettings? `([A-Za-z][\w.]*)`", text) if name not in settings()
    ] == []


def test_the_providers_page_names_the_network_settings() -> None:
    text = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([a-z]+(?:[A-Z]\w*)?(?:\.\w+)*)`", text) if name in settings()}
    wanted = {"httpProxy", "firstEventTimeoutMs", "httpIdleTimeoutMs"}
    assert wanted <= named and wanted <= settings()
    assert not re.search(r"`network\.\w+`", text)
