"""Style rules that are kept are those that were parsed, and parts styled when asked for look as Textual styles them."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.widget import Widget

from app.tui import style_cache as kept_rules
from app.tui.style_cache import load_cached_style_rules, save_style_rules_cache
from tests.support.screens import Screen
from tests.widgets.host import STYLES
from widgets.textual_internals import CachedStylesheet
from widgets.themes import default_style_variables, parse_theme, to_textual_theme

COLORS = {
    **to_textual_theme(parse_theme((STYLES / "themes" / "bayou-dark.json").read_bytes(), "bayou-dark.json"))
    .to_color_system()
    .generate(),
    **default_style_variables(),
    **to_textual_theme(
        parse_theme((STYLES / "themes" / "bayou-dark.json").read_bytes(), "bayou-dark.json")
    ).variables,
}


def sheet_of(kept: Any = None) -> CachedStylesheet:
    sheet = CachedStylesheet(variables=dict(COLORS))
    sheet.kept = kept or {}
    sheet.read_all(sorted(STYLES.glob("*.tcss")))
    sheet.add_source("Widget { padding: 1 2; layout: vertical; }", ("here", "x"), is_default_css=True)
    return sheet


def told(sheet: Stylesheet) -> list[Any]:
    return [
        (rule.css, rule.is_default_rules, rule.tie_breaker, rule.selector_names, rule.pseudo_classes,
         [(chosen.specificity, [each.advance for each in chosen.selectors]) for chosen in rule.selector_set],
         repr(sorted(rule.styles.get_rules().items())), rule.styles.important)
        for rule in sheet.rules
    ]  # fmt: skip


def test_what_is_read_again_is_what_was_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parsed = sheet_of()
    before = told(parsed)
    save_style_rules_cache(tmp_path / "styles", COLORS, parsed.used)
    kept = load_cached_style_rules(tmp_path / "styles", COLORS)
    assert len(kept) == len(parsed.source)
    monkeypatch.setattr(Stylesheet, "_parse_rules", None)
    assert told(sheet_of(kept)) == before


def test_a_source_that_has_changed_is_parsed_and_the_others_are_not(tmp_path: Path):
    parsed = sheet_of()
    parsed.parse()
    save_style_rules_cache(tmp_path / "styles", COLORS, parsed.used)
    sheet = sheet_of(load_cached_style_rules(tmp_path / "styles", COLORS))
    sheet.add_source("Widget { padding: 3; }", ("here", "x"), is_default_css=True)
    assert [rule.css for rule in sheet.rules][-1] == "Widget {\n    padding: 3;\n}"
    assert [rule.css for rule in sheet.rules][:-1] == [rule.css for rule in parsed.rules][:-1]


class Harm:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("harm"),))


@pytest.mark.parametrize(
    "what", [Harm(), getattr, print, pickle.loads], ids=["a class of its own", "getattr", "print", "loads"]
)
def test_nothing_but_values_of_styles_is_let_in(tmp_path: Path, what: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept_rules, "_RulePickler", pickle.Pickler)
    save_style_rules_cache(tmp_path / "styles", COLORS, {("css",): [what]})
    assert (tmp_path / "styles").stat().st_size and load_cached_style_rules(tmp_path / "styles", COLORS) == {}
    assert not Path("harm").exists()


def test_a_file_of_others_of_other_colours_or_with_a_fault_counts_for_nothing(tmp_path: Path):
    path = tmp_path / "styles"
    assert load_cached_style_rules(path, COLORS) == {}
    sheet = sheet_of()
    sheet.parse()
    save_style_rules_cache(path, COLORS, sheet.used)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_cached_style_rules(path, {**COLORS, "primary": "red"}) == {}
    whole = path.read_bytes()
    path.chmod(0o660)
    assert load_cached_style_rules(path, COLORS) == {}
    path.chmod(0o600)
    for broken in (b"", whole[:31], whole[:-20], whole[:900] + bytes([whole[900] ^ 1]) + whole[901:]):
        path.write_bytes(broken)
        assert load_cached_style_rules(path, COLORS) == {}
    path.write_bytes(whole)
    assert load_cached_style_rules(path, COLORS)


def test_other_colours_make_what_is_kept_worthless():
    sheet = sheet_of({("css", ("a", ""), False, 0, ""): []})
    sheet.set_variables(dict(COLORS))
    assert sheet.kept == {}


def parts_of(widgets: Iterable[Widget]) -> dict[tuple[str, str], Any]:
    return {
        (str(widget.css_path_nodes), part): repr(
            sorted(widget.get_component_styles(part).get_rules().items())
        )
        for widget in widgets
        for part in sorted(type(widget)._get_component_classes())
    }


async def test_parts_are_styled_as_textual_styles_them(screen: Screen):
    app = screen.app()
    async with app.run_test() as pilot:
        await pilot.pause()
        for theme in ("bayou-dark", "bayou-light"):
            app.theme_control.apply_theme(theme)
            await pilot.pause()
            shown = [app.screen, *app.screen.query(Widget)]
            assert isinstance(app.stylesheet, CachedStylesheet)
            ours = parts_of(shown)
            plain = app.stylesheet.copy()
            plain.parse()
            plain.update(app.screen)
            assert ours == parts_of(shown) and len(ours) > 100


async def test_the_next_start_parses_nothing(screen: Screen, monkeypatch: pytest.MonkeyPatch):
    first = screen.app()
    async with first.run_test() as pilot:
        await pilot.pause()
        await first.is_ready.wait()
        await pilot.pause()
    monkeypatch.setattr(Stylesheet, "_parse_rules", None)
    second = screen.app()
    async with second.run_test() as pilot:
        await pilot.pause()
        assert len(second.stylesheet.rules) == len(first.stylesheet.rules) > 100
