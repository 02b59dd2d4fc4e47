"""The usage of all sessions as one HTML page, which needs no network and prints in ink on white."""

from collections.abc import Sequence
from html import escape

import msgspec

_USAGE_PAGE_CSS = """
:root { color-scheme: light dark; --page: #fbfbf9; --ink: #1f2a2a; --muted: #59625f; --rule: #d5d2c8; --bar: #0f7a56; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12181a; --ink: #d8dfda; --muted: #9aa8a2; --rule: #2e3a3d; --bar: #7fc8a9; }
}
@media print {
  :root { --page: #fff; --ink: #000; --muted: #444; --rule: #bbb; --bar: #0f7a56; }
  h2 { break-after: avoid; } tr { break-inside: avoid; } .bar i { print-color-adjust: exact; }
}
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin-bottom: 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { color: var(--muted); margin: .2rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { color: var(--muted); font-weight: normal; text-align: right; border-bottom: 1px solid var(--rule); }
td { text-align: right; padding: .15rem 0 .15rem 1rem; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; padding-left: 0; }
.bar { width: 22%; } .bar i { display: block; height: 4px; border-radius: 2px; background: var(--bar); }
@media (max-width: 40rem) { .bar { display: none; } }
"""


class UsagePageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the usage page: the sum of one day, model, project or session."""

    title: str
    share: float
    """The value of the bar, from 0 to 1."""
    figures: tuple[str, ...]


class UsagePageTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the usage page: the sums by day, model, project or session."""

    title: str
    head: tuple[str, ...]
    rows: tuple[UsagePageRow, ...]


def usage_page(total: str, tables: Sequence[UsagePageTable], left_out: Sequence[str]) -> str:
    """Returns the usage of all sessions as an HTML page. `left_out`: the sessions that were not counted, and
    why."""
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Usage of bayou</title><style>{_USAGE_PAGE_CSS}</style></head><body>",
        f"<h1>Usage of bayou</h1><p>{escape(total)}</p>",
        *map(_table_html, tables),
        *(f"<p>Not counted: {escape(one)}</p>" for one in left_out),
        "</body></html>",
    ]
    return "\n".join(parts)


def _table_html(table: UsagePageTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.head)
    rows = "\n".join(map(_row_html, table.rows))
    return (
        f"<h2>By {escape(table.title)}</h2>\n"
        f"<table><thead><tr><th>{escape(table.title.capitalize())}</th><th></th>{head}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table>"
    )


def _row_html(row: UsagePageRow) -> str:
    figures = "".join(f"<td>{escape(figure)}</td>" for figure in row.figures)
    width = max(1, round(100 * row.share)) if row.share > 0 else 0
    return (
        f'<tr><td>{escape(row.title)}</td><td class="bar"><i style="width:{width}%"></i></td>{figures}</tr>'
    )
