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
from tools.filemap.scanners.scan_result import OutlineScanner

OUTLINE_SCANNER_BY_LANGUAGE: dict[str, OutlineScanner] = {
    "asciidoc": OutlineScanner("AsciiDoc", asciidoc.outline_asciidoc),
    "asm": OutlineScanner("Assembly", section_formats.outline_asm),
    "csv": OutlineScanner("CSV", csv_tables.outline_csv),
    "gherkin": OutlineScanner("Gherkin", gherkin.outline_gherkin),
    "ini": OutlineScanner("INI", section_formats.outline_ini),
    "json": OutlineScanner("JSON", json.outline_json),
    "jsonl": OutlineScanner("JSON Lines", jsonl.outline_jsonl),
    "jupyter": OutlineScanner("Jupyter notebook", notebooks.outline_notebook),
    "latex": OutlineScanner("LaTeX", latex.outline_latex),
    "markdown": OutlineScanner("Markdown", markdown.outline_markdown),
    "rst": OutlineScanner("reStructuredText", section_formats.outline_rst),
    "scss": OutlineScanner("SCSS", scss.outline_scss),
    "sql": OutlineScanner("SQL", sql.outline_sql),
    "tsv": OutlineScanner("TSV", csv_tables.outline_tsv),
    "xml": OutlineScanner("XML", xml.outline_xml),
    "yaml": OutlineScanner("YAML", yaml.outline_yaml),
}
