"""The page of the review as a browser shows it, where there is one: drawn, quiet, alone, readable without scripts."""

from pathlib import Path

import pytest
from rich.text import Text

from tests.pictures.test_review import picture
from tests.review.changes import compare_texts
from tests.review.page import changes_page
from tests.review.sources import Review
from tests.support.browser import Browser, browser

__all__ = ["browser"]

WIDE = "e\N{COMBINING ACUTE ACCENT} 漢字 \N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET} end"
DRAWN = "new Promise(done => setTimeout(() => requestAnimationFrame(() => done(true))))"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """One changed cell; a colour; a wide picture of 500 columns; a new one, one that is gone, and a broken one."""
    before = {
        "cell.svg": picture("one", "two", "six"),
        "colour.svg": picture(Text("go", "#112233")),
        "wide.svg": picture(WIDE, columns=500),
        "gone.svg": picture("it was here"),
        "broken.svg": picture("whole"),
    }
    after = {
        "cell.svg": picture("one", "twx", "six"),
        "colour.svg": picture(Text("go", "#445566")),
        "wide.svg": picture(f"{WIDE}ed", columns=500),
        "new.svg": picture("it is something else"),
        "broken.svg": picture("whole")[:-300],
    }
    path = tmp_path / "review.html"
    path.write_text(changes_page(compare_texts(before, after, Review()), "All kinds", Review(), {}), "utf-8")
    return path


def test_the_page_draws_without_errors_or_requests(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.value(DRAWN)
    assert browser.value(
        "[...document.querySelectorAll('figure')].every(one => one.querySelector('svg text'))"
    )
    assert (browser.console, browser.requests) == ([], [page.as_uri()])


def test_one_changed_cell_has_one_outline_at_its_place(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.value(DRAWN)
    figure = "[...document.querySelectorAll('figure')].find(one => one.textContent.includes('cell.svg'))"
    rects = f"[...{figure}.querySelectorAll('.cells rect')]"
    places = browser.value(f"{rects}.map(one => ['x', 'y', 'width'].map(name => +one.getAttribute(name)))")
    assert [[round(number, 1) for number in place] for place in places] == [[24.4, 24.4, 12.2]]


def test_the_keys_of_the_page(browser: Browser, page: Path) -> None:
    browser.open(page)
    press = "dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
    for key, shown in (("1", "before"), ("3", "slider"), ("4", "beside"), ("c", "bare")):
        browser.value(f"document.body.{press % key}")
        assert browser.value(f"document.body.classList.contains('{shown}')"), key
    browser.value(f"document.body.{press % 'j'}")
    browser.value(f"document.body.{press % 's'}")
    assert browser.value("document.querySelectorAll('section.seen').length") == 1
    assert browser.console == []


def test_without_scripts_the_words_that_changed_are_read(browser: Browser, page: Path) -> None:
    browser.open(page, has_scripts=False)
    said = browser.value("document.body.innerText")
    for words in (
        "Scripts are off",
        "- two",
        "+ twx",
        "it was here",
        "it is something else",
        "cut off",
        "#112233",
    ):
        assert words in said, words
    assert browser.value("document.querySelectorAll('svg').length") == 0
    assert (browser.console, browser.requests) == ([], [page.as_uri()])
