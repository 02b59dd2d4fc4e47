"""The page of the command line is the table of flags."""

from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.cli.flags import COMMAND_LINE_FLAGS
from app.cli.flags_docs import COMMAND_LINE_DOCS_FILE, command_line_docs_text


def test_the_page_is_up_to_date() -> None:
    shown = (Path(__file__).resolve().parents[2] / COMMAND_LINE_DOCS_FILE).read_text()
    assert shown == command_line_docs_text(), "run: python -m app.cli.flags_docs"


def test_every_flag_is_an_option_that_is_used() -> None:
    """Every field of the options is read, so that no option is without effect."""
    app = Path(__file__).resolve().parents[2] / "app"
    code = "".join(path.read_text() for path in app.rglob("*.py"))
    fields = {
        "continue_" if flag.field_name == "continue" else flag.field_name for flag in COMMAND_LINE_FLAGS
    }
    assert fields <= set(CommandLineOptions.__struct_fields__)
    assert [field for field in sorted(fields) if f"options.{field}" not in code] == []
