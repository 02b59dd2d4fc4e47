"""The reference in docs/extensions.md says what the code says."""

import re
from pathlib import Path

from app.extensions.extension_docs_generator import EXTENSIONS_DOCS_PAGE, fill_generated_docs_parts
from app.extensions.hooks.hook_table import HOOK_DEFINITIONS, SESSION_EVENTS
from app.resources.text_files import read_text

HOME = Path(__file__).resolve().parent.parent.parent


def test_the_generated_parts_are_up_to_date():
    page = read_text(HOME / EXTENSIONS_DOCS_PAGE)
    assert page and fill_generated_docs_parts(page) == page, (
        "run: python -m app.extensions.extension_docs_generator"
    )
    for name in (*HOOK_DEFINITIONS, *SESSION_EVENTS):
        assert f"| `{name}` |" in page


def test_every_example_is_listed():
    page = read_text(HOME / EXTENSIONS_DOCS_PAGE) or ""
    for path in (HOME / "docs" / "examples").glob("*.py"):
        assert f"`{path.name}`" in page


def test_features_named_missing_on_the_page_are_missing():
    sentence = re.search(r"there is (no `\w+`[^.]*)\.", read_text(HOME / EXTENSIONS_DOCS_PAGE) or "")
    assert sentence is not None
    assert not {*HOOK_DEFINITIONS, *SESSION_EVENTS} & set(re.findall(r"`(\w+)`", sentence[1]))
