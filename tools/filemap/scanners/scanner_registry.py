"""Collects the scanners that outline a file without a grammar, by language."""

from tools.filemap.scanners import (
    asciidoc,
    csv_tables,
    gherkin,
    json,
    jsonl,
    latex,
    markdown,
    notebooks,
    scss,
    section_formats,
    sql,
    xml,
    yaml,
)
from tools.filemap.scanners.scan_result import Scanner

SCANNERS_BY_LANGUAGE: dict[str, Scanner] = {
    "asciidoc": Scanner("AsciiDoc", asciidoc.scan_asciidoc),
    "asm": Scanner("Assembly", section_formats.scan_asm),
    "csv": Scanner("CSV", csv_tables.scan_csv),
    "gherkin": Scanner("Gherkin", gherkin.scan_gherkin),
    "ini": Scanner("INI", section_formats.scan_ini),
    "json": Scanner("JSON", json.scan_json),
    "jsonl": Scanner("JSON Lines", jsonl.scan_jsonl),
    "jupyter": Scanner("Jupyter notebook", notebooks.scan_notebook),
    "latex": Scanner("LaTeX", latex.scan_latex),
    "markdown": Scanner("Markdown", markdown.scan_markdown),
    "rst": Scanner("reStructuredText", section_formats.scan_rst),
    "scss": Scanner("SCSS", scss.scan_scss),
    "sql": Scanner("SQL", sql.scan_sql),
    "tsv": Scanner("TSV", csv_tables.scan_tsv),
    "xml": Scanner("XML", xml.scan_xml),
    "yaml": Scanner("YAML", yaml.scan_yaml),
}
