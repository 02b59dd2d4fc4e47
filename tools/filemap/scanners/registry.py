"""Collects the scanners that outline a file without a grammar, by language."""

from tools.filemap.scanners import (
    asciidoc,
    gherkin,
    json,
    jsonl,
    latex,
    markdown,
    notebooks,
    sections,
    sql,
    styles,
    tables,
    xml,
    yaml,
)
from tools.filemap.scanners.result import Scanner

SCANNERS: dict[str, Scanner] = {
    "asciidoc": Scanner("AsciiDoc", asciidoc.scan_asciidoc),
    "asm": Scanner("Assembly", sections.scan_asm),
    "csv": Scanner("CSV", tables.scan_csv),
    "gherkin": Scanner("Gherkin", gherkin.scan_gherkin),
    "ini": Scanner("INI", sections.scan_ini),
    "json": Scanner("JSON", json.scan_json),
    "jsonl": Scanner("JSON Lines", jsonl.scan_jsonl),
    "jupyter": Scanner("Jupyter notebook", notebooks.scan_notebook),
    "latex": Scanner("LaTeX", latex.scan_latex),
    "markdown": Scanner("Markdown", markdown.scan_markdown),
    "rst": Scanner("reStructuredText", sections.scan_rst),
    "scss": Scanner("SCSS", styles.scan_scss),
    "sql": Scanner("SQL", sql.scan_sql),
    "tsv": Scanner("TSV", tables.scan_tsv),
    "xml": Scanner("XML", xml.scan_xml),
    "yaml": Scanner("YAML", yaml.scan_yaml),
}
