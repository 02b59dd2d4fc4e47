"""The pages of docs/ hang together: what they lead to is there, and the first page leads to each."""

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
def test_what_a_page_leads_to_is_there(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    assert [link for link in _LINK.findall(text) if not (page.parent / unquote(link)).exists()] == []


def test_the_first_page_leads_to_every_other() -> None:
    first = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and f"({page.name}" not in first] == []


def settings() -> set[str]:
    def named(group: dict[str, Any], before: str = "") -> Iterator[str]:
        for name, value in (group.get("properties") or {}).items():
            yield before + name
            yield from named(value, f"{before}{name}.")

    return set(named(json.loads((ROOT / "docs" / "settings.schema.json").read_text(encoding="utf-8"))))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_a_setting_that_a_page_names_is_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [
        name for name in re.findall(r"[Ss]ettings? `([A-Za-z][\w.]*)`", text) if name not in settings()
    ] == []


def test_the_page_of_providers_has_the_settings_of_the_network() -> None:
    text = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([a-z]+(?:[A-Z]\w*)?(?:\.\w+)*)`", text) if name in settings()}
    wanted = {"httpProxy", "firstEventTimeoutMs", "httpIdleTimeoutMs"}
    assert wanted <= named and wanted <= settings()
    assert not re.search(r"`network\.\w+`", text)
