"""Themes: those that ship can be read by everyone; broken ones are named and change nothing."""

from pathlib import Path

import pytest
from textual.theme import Theme

from tests.widgets.host import STYLES
from widgets.colors import contrast_ratio, parse_color
from widgets.themes import (
    THEME_BACKGROUND_CONTRASTS,
    THEME_TEXT_CONTRASTS,
    THEME_TOKENS,
    ThemeError,
    ThemeSpec,
    default_style_variables,
    parse_tcss_theme_file,
    parse_theme,
    theme_token_colors,
    to_textual_theme,
)

FILES = sorted((STYLES / "themes").glob("*.json"))
GROUNDS = (
    *("background", "surface", "panel", "selectedBg", "userMessageBg", "customMessageBg"),
    *("toolPendingBg", "toolSuccessBg", "toolErrorBg"),
)
TEXTS = (
    *(
        "text",
        "muted",
        "dim",
        "accent",
        "primary",
        "secondary",
        "success",
        "warning",
        "error",
        "thinkingText",
    ),
    *("mdHeading", "mdLink", "mdLinkUrl", "mdCode", "mdQuote", "mdListBullet", "toolTitle", "toolOutput"),
    *("toolDiffAdded", "toolDiffRemoved", "toolDiffContext", "bashMode", "customMessageLabel"),
    *("syntaxComment", "syntaxKeyword", "syntaxFunction", "syntaxVariable", "syntaxString", "syntaxNumber"),
    *("syntaxType", "syntaxOperator", "syntaxPunctuation"),
    *("userMessageText", "customMessageText", "mdCodeBlock"),
)
MARKS = (
    *("border", "borderAccent", "scrollbarThumb", "bashMode", "caretBg", "mdQuoteBorder"),
    *(f"thinking{level}" for level in ("Off", "Minimal", "Low", "Medium", "High", "Xhigh", "Max")),
)


PAIRS = (("caretText", "caretBg"), ("searchMatchText", "searchMatchBg"))
LIFTED = {(text, "selectedBg") for text in TEXTS} | {
    ("dim", ground) for ground in GROUNDS if ground != "background"
}
"""The selected row, and the faint ink on raised grounds: there the ink is brought nearer to black or white where it is
painted (`widgets.readable_styles`, and `test_contrast` over what is really shown)."""
ORNAMENTS = {"borderMuted", "mdCodeBlockBorder", "mdHr", "scrollbarTrack"}
"""Nothing is lost with them."""


def load(path: Path) -> ThemeSpec:
    return parse_theme(path.read_bytes(), path.name)


def test_there_are_four_of_bayou_and_four_beloved_ones() -> None:
    names = {load(path).name for path in FILES}
    assert {"bayou-dark", "bayou-light", "high-contrast", "ansi"} < names
    assert len(names) >= 8
    assert all(load(path).name == path.stem for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_and_marks_can_be_told_from_their_ground(path: Path) -> None:
    spec = load(path)
    if spec.ansi:
        assert "#" not in str(spec.colors), "the terminal's palette, nothing else"
        return
    colors = theme_token_colors(spec)
    poor = [
        f"{text} on {ground}: {contrast_ratio(colors[text], colors[ground]):.2f}"
        for text in TEXTS
        for ground in GROUNDS
        if (text, ground) not in LIFTED and contrast_ratio(colors[text], colors[ground]) < 4.5
    ]
    poor += [
        f"{mark}: {contrast_ratio(colors[mark], colors['background']):.2f}"
        for mark in MARKS
        if contrast_ratio(colors[mark], colors["background"]) < 3
    ]
    poor += [
        f"{text} on {ground}" for text, ground in PAIRS if contrast_ratio(colors[text], colors[ground]) < 4.5
    ]
    assert not poor


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_there_are_three_inks_and_grounds_that_one_sees(path: Path) -> None:
    spec = load(path)
    if spec.ansi:
        return
    colors = theme_token_colors(spec)
    for ink, ratio in THEME_TEXT_CONTRASTS.items():
        most = 21 if spec.name == "high-contrast" else ratio * 1.06
        assert ratio <= contrast_ratio(colors[ink], colors["background"]) <= most, ink
    text, muted, dim = (contrast_ratio(colors[ink], colors["background"]) for ink in THEME_TEXT_CONTRASTS)
    assert text / muted >= 1.4 and muted / dim >= 1.4
    for ground, least in THEME_BACKGROUND_CONTRASTS.items():
        assert contrast_ratio(colors[ground], colors["background"]) >= least - 0.01, ground


def test_a_theme_that_names_no_grounds_and_no_quieter_inks_gets_some_that_one_sees() -> None:
    colors = theme_token_colors(
        ThemeSpec(name="bare", colors={"accent": "#0aa", "success": 2, "error": 1, "warning": 3})
    )
    for token, least in (THEME_BACKGROUND_CONTRASTS | THEME_TEXT_CONTRASTS).items():
        assert least - 0.01 <= contrast_ratio(colors[token], colors["background"]) <= least * 1.1, token


def test_no_token_is_forgotten() -> None:
    in_pairs = {token for pair in PAIRS for token in pair}
    assert {*TEXTS, *MARKS, *GROUNDS, *in_pairs, *ORNAMENTS} == set(THEME_TOKENS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_theme_gives_every_style_variable(path: Path) -> None:
    theme = to_textual_theme(load(path))
    assert isinstance(theme, Theme)
    assert set(default_style_variables()) <= set(theme.variables)


def test_colours_in_all_their_forms() -> None:
    assert parse_color("#Abc") == "#aabbcc"
    assert parse_color(196) == "#ff0000"
    assert parse_color(244) == "#808080"
    assert parse_color("oklch(100% 0 0)") == "#ffffff"
    assert parse_color("okhsl(120 0% 0%)") == "#000000"


def test_a_theme_of_pi_loads_and_gets_what_it_lacks() -> None:
    colors = (
        b'{"accent": "mint", "success": "#0f0", "error": 196, "warning": "#fa0", "text": "", "muted": 244}'
    )
    spec = parse_theme(
        b'{"$schema": "x", "name": "mine", "vars": {"mint": "#7fc8a9"}, "colors": ' + colors + b"}",
        "mine.json",
    )
    found = theme_token_colors(spec)
    assert set(found) == set(THEME_TOKENS)
    assert found["accent"] == "#7fc8a9"
    assert found["text"].startswith("#")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "mine.json"),
        (b'{"name": "system", "colors": {}}', "`system`"),
        (b'{"name": "m", "colours": {}}', "colours"),
        (b'{"name": "m", "colors": {"accent": "#fff"}}', "needs"),
        (b'{"name": "m", "colors": {"acent": "#fff"}}', "acent"),
        (b'{"name": "m", "colors": {"accent":"#ggg","success":1,"error":1,"warning":1}}', "accent"),
        (
            b'{"name":"m","vars":{"a":"b","b":"a"},"colors":{"accent":"a","success":1,"error":1,"warning":1}}',
            "refers to itself",
        ),
    ],
)
def test_a_broken_theme_says_what_is_wrong_and_where(raw: bytes, said: str) -> None:
    with pytest.raises(ThemeError) as problem:
        parse_theme(raw, "mine.json")
    assert "mine.json" in str(problem.value)
    assert said in str(problem.value)


def test_the_themes_of_the_page_about_them_can_be_used() -> None:
    page = (STYLES.parent / "docs" / "looks.md").read_text(encoding="utf-8")
    json_theme = page.split("```json\n")[1].split("```")[0]
    tcss_theme = page.split("```css\n")[1].split("```")[0]
    assert theme_token_colors(parse_theme(json_theme.encode(), "looks.md"))["accent"] == "#7fc8a9"
    spec, rules = parse_tcss_theme_file(tcss_theme, "harbour", "looks.md")
    assert theme_token_colors(spec)["accent"] == "#7fc8a9"
    assert rules == "StatusFooter { height: 2; }"


def test_a_tcss_theme_sets_tokens_and_may_add_rules() -> None:
    text = """$appearance: light;
$mint: #00664d;  /* a name */
$accent: $mint;
$thinking-high: #804000;
$success: #206020; $background: #ffffff;
$error: #a00000;
$warning: #705000;
StatusFooter { background: $panel; }
"""
    text = text.replace("; $background", ";\n$background")
    spec, rules = parse_tcss_theme_file(text, "mine", "mine.tcss")
    found = theme_token_colors(spec)
    assert found["accent"] == "#00664d"
    assert found["thinkingHigh"] == "#804000"
    assert rules == "StatusFooter { background: $panel; }"
    assert not to_textual_theme(spec).dark
