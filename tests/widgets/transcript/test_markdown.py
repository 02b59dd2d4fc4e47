"""What Markdown looks like."""

from tests.widgets.transcript.drawn import rows, styled
from widgets.transcript.markdown.markdown_stream import parse_bounded


def drawn(source: str, width: int = 40) -> str:
    return "\n".join(rows(parse_bounded(source), width))


def test_blocks_are_parted_by_one_blank_row() -> None:
    assert drawn("# Title\nText\nmore\n- a\n- b\n\n\n\nEnd") == "Title\n\nText more\n\n• a\n• b\n\nEnd"


def test_lists_keep_their_numbers_their_levels_and_their_looseness() -> None:
    assert drawn("3. three\n4. four\n   - a\n     - b\n       - c\n") == (
        "3. three\n4. four\n   • a\n     ◦ b\n       ▪ c".replace("• a", "◦ a").replace("◦ b", "▪ b")
    )
    assert drawn("- a\n\n- b\n- c") == "• a\n\n• b\n• c"


def test_wrapped_items_hang_below_their_text() -> None:
    assert drawn("- one two three four five", 14) == "• one two\n  three four\n  five"


def test_tasks_have_boxes() -> None:
    assert drawn("- [ ] open\n- [x] done\n1. [ ] first") == "☐ open\n☑ done\n\n1. ☐ first"


def test_quotes_have_a_bar_also_between_their_paragraphs() -> None:
    assert drawn("> one\n>\n> two\n\nout") == "▎ one\n▎\n▎ two\n\nout"


def test_tables_fit_the_width_by_wrapping_their_widest_columns() -> None:
    table = "| id | what it is |\n|---:|---|\n| 1 | a long description of it |\n| 22 | short |"
    assert drawn(table, 22) == (
        "id │ what it is\n───┼──────────────────\n 1 │ a long\n   │ description of it\n22 │ short"
    )


def test_a_table_that_cannot_fit_keeps_readable_columns() -> None:
    wide = "|" + "column|" * 20 + "\n|" + "---|" * 20 + "\n|" + "value|" * 20
    (leaf,) = parse_bounded(wide)
    leaf.layout(40)
    assert leaf.natural_width() == 20 * 6 + 19 * 3
    assert len(rows([leaf], 40)[0]) == leaf.natural_width()


def test_code_is_verbatim_and_coloured() -> None:
    (leaf,) = parse_bounded("```python\ndef f():\n\treturn  1\n```")
    assert leaf.plain == "def f():\n\treturn  1"
    assert ("def", "syntax-keyword") in styled([leaf])[0]
    assert rows([leaf])[1] == "    return  1"


def test_formulas_stay_readable() -> None:
    assert drawn(r"Let $a_{ij} * b_{ij}$ and \(x_1\) be $5 and $6.") == "Let aᵢⱼ * bᵢⱼ and x₁ be $5 and $6."


def test_links_lead_where_they_say_and_nowhere_else() -> None:
    (row,) = styled(parse_bounded("[good](https://a.b) [bad](javascript:alert) https://c.d/e."), 80)
    keys = dict(row)
    assert keys["good"].startswith("@https://a.b\0")
    assert keys["https://c.d/e"].startswith("@https://c.d/e\0")
    assert not any("javascript" in key for key in keys.values())


def test_markup_of_other_languages_is_plain_text() -> None:
    assert drawn("[red]not red[/red] [bold $x") == "[red]not red[/red] [bold $x"


def test_html_is_shown_as_it_was_written() -> None:
    assert drawn("a <b>c</b>\n\n<div>\n x\n</div>") == "a <b>c</b>\n\n<div>\n x\n</div>"


def test_a_rule_goes_across() -> None:
    assert drawn("a\n\n---\n\nb", 10) == "a\n\n──────────\n\nb"
