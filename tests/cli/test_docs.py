"""The page of the command line is the table of flags."""

from pathlib import Path

from app.assembly.options import Options
from app.cli.flags import FLAGS
from app.cli.flags_docs import PAGE_FILE, page_text


def test_the_page_is_up_to_date() -> None:
    shown = (Path(__file__).resolve().parents[2] / PAGE_FILE).read_text()
    assert shown == page_text(), "run: python -m app.cli.flags_docs"


def test_every_flag_is_an_option_that_is_used() -> None:
    """Every field of the options is read, so that no option is without effect."""
    app = Path(__file__).resolve().parents[2] / "app"
    code = "".join(path.read_text() for path in app.rglob("*.py"))
    fields = {"continue_" if flag.field_name == "continue" else flag.field_name for flag in FLAGS}
    assert fields <= set(Options.__struct_fields__)
    assert [field for field in sorted(fields) if f"options.{field}" not in code] == []
