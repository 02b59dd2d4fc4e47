"""The line scanners by language."""

from tools.filemap.scanners import (
    asciidoc,
    gherkin,
    json,
    latex,
    markdown,
    notebooks,
    records,
    sections,
    sql,
    styles,
    tables,
    xml,
    yaml,
)
from tools.filemap.scanners.result import Scanner

SCANNERS: dict[str, Scanner] = {
    "asciidoc": Scanner("AsciiDoc", asciidoc.scan),
    "asm": Scanner("Assembly", sections.scan_asm),
    "csv": Scanner("CSV", tables.scan_csv),
    "gherkin": Scanner("Gherkin", gherkin.scan),
    "ini": Scanner("INI", sections.scan_ini),
    "json": Scanner("JSON", json.scan),
    "jsonl": Scanner("JSON Lines", records.scan_jsonl),
    "jupyter": Scanner("Jupyter notebook", notebooks.scan),
    "latex": Scanner("LaTeX", latex.scan_latex),
    "markdown": Scanner("Markdown", markdown.scan),
    "rst": Scanner("reStructuredText", sections.scan_rst),
    "scss": Scanner("SCSS", styles.scan_scss),
    "sql": Scanner("SQL", sql.scan),
    "tsv": Scanner("TSV", tables.scan_tsv),
    "xml": Scanner("XML", xml.scan),
    "yaml": Scanner("YAML", yaml.scan),
}
