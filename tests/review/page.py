"""One page that shows pictures: whole in one file, without network, and readable as words where scripts are off.

Pictures travel as cells, each different line once: what a browser draws from them is the same in every font.
"""

import base64
import hashlib
import html
import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tests.review.changes import Alike, Change, Comparison, Place, is_made_up, place_of
from tests.review.drawing import Drawing, Ink, Line, columns_of
from tests.review.likeness import further_edits
from tests.review.sources import Review

_HERE = Path(__file__).parent
_WORDS_SHOWN = 40


class Data:
    """What the script draws from: inks, colours and lines, each once."""

    def __init__(self) -> None:
        self._inks: dict[Ink, int] = {}
        self._colours: dict[str, int] = {}
        self._lines: dict[Line, int] = {}
        self._told: list[Any] = []
        self.pictures: list[dict[str, Any]] = []

    def drawing(self, drawing: Drawing) -> list[Any]:
        return [drawing.columns, drawing.height, [self._line(line) for line in drawing.lines]]

    def as_json(self) -> str:
        told = {
            "inks": [[_safe_colour(ink.colour), ink.marks] for ink in self._inks],
            "colours": [_safe_colour(colour) for colour in self._colours],
            "lines": self._told,
            "pictures": self.pictures,
        }
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

    def _line(self, line: Line) -> int:
        number = self._lines.get(line)
        if number is None:
            number = self._lines[line] = len(self._told)
            pieces = [
                [
                    piece.column,
                    columns_of(piece.text),
                    piece.text,
                    self._inks.setdefault(piece.ink, len(self._inks)),
                ]
                for piece in line.pieces
            ]
            grounds = [
                [ground.column, ground.width, self._colours.setdefault(ground.colour, len(self._colours))]
                for ground in line.grounds
            ]
            self._told.append([pieces, grounds])
        return number


class About(NamedTuple):
    """What is known of a picture besides its cells."""

    words: str = ""
    """What its test says of itself."""
    test: str = ""
    """To run it: `tests/test_boats.py::test_sail`."""
    is_made: bool = False
    """By the last run, which can be accepted."""
    is_stale: bool = False
    """The stored picture changed since that run."""


UNKNOWN = About()


def changes_page(comparison: Comparison, title: str, review: Review, about: Mapping[str, About]) -> str:
    data = Data()
    parts = [_alike(group, data, review, about) for group in comparison.alike]
    if comparison.same_cells:
        names = "".join(f"<li>{html.escape(change.name)}</li>" for change in comparison.same_cells)
        count = len(comparison.same_cells)
        told = f"{count} {'picture' if count == 1 else 'pictures'} with other bytes and the same cells"
        parts.append(f"<details class=quiet><summary>{told}</summary><ul>{names}</ul></details>")
    return _page(title, comparison.told(), "changes", "".join(parts), data)


def gallery_page(
    pictures: Iterable[tuple[str, Drawing]], title: str, review: Review, words: Mapping[str, str]
) -> str:
    data = Data()
    tours: dict[tuple[str, str], dict[str, list[tuple[Place, str, Drawing]]]] = {}
    count = 0
    for name, drawing in pictures:
        place = place_of(name)
        tours.setdefault((place.module, place.test), {}).setdefault(place.state, []).append(
            (place, name, drawing)
        )
        count += 1
    parts: list[str] = []
    for (module, test), states in sorted(tours.items()):
        any_name = next(iter(states.values()))[0][1]
        made_up = " <em>made-up scene</em>" if is_made_up(any_name, review) else ""
        heading = html.escape(test.removeprefix("test_").replace("_", " "))
        said = html.escape(words.get(any_name, ""))
        shown = "".join(_state(state, members, data, review) for state, members in sorted(states.items()))
        parts.append(
            f"<section class=tour><h2>{heading}{made_up}</h2><p class=from>{html.escape(module)}</p>"
            f"<p>{said}</p>{shown}</section>"
        )
    return _page(title, f"{count} pictures in {len(tours)} tours", "gallery", "".join(parts), data)


def _state(state: str, members: list[tuple[Place, str, Drawing]], data: Data, review: Review) -> str:
    figures: list[str] = []
    for place, name, drawing in sorted(members, key=lambda member: (member[0].theme, member[0].size)):
        data.pictures.append({"name": name, "after": data.drawing(drawing)})
        theme = place.theme or next((one for one in review.themes if f"[{one}]" in name), "")
        figures.append(_figure(len(data.pictures) - 1, name, " ".join(filter(None, (theme, place.size)))))
    shown = f"<h3>{html.escape(state)}</h3><div class=figures>{''.join(figures)}</div>"
    return f'<div class=state data-state="{html.escape(state)}">{shown}</div>'


def _alike(group: Alike, data: Data, review: Review, about: Mapping[str, About]) -> str:
    count = len(group.changes)
    first = group.changes[0]
    known = [about.get(change.name, UNKNOWN) for change in group.changes]
    what = f"{count} {'picture' if count == 1 else 'pictures'}"
    kind = "" if group.kind == "changed" else f" · {group.kind}"
    made_up = " <em>made-up scene</em>" if is_made_up(first.name, review) else ""
    rest = "".join(_changed(change, data) for change in group.changes[1:])
    more = f"<details><summary>{count - 1} more of the same</summary>{rest}</details>" if rest else ""
    made = [one for one in known if one.is_made]
    is_stale = any(one.is_stale for one in made)
    takes = f" · change:{group.id}" if made and not is_stale else ""
    stale = "<p>A stored picture was changed since the run: run the test again.</p>" if is_stale else ""
    run = _command(known)
    return (
        f'<section class=change id="{group.id}"{" data-accept" if takes else ""} data-run="{html.escape(run)}">'
        f"<h2>{html.escape(group.title)}{made_up} <small>{what}{kind}{takes}</small></h2>"
        f"<p>{html.escape(known[0].words)}</p>{stale}<p class=from><code>{html.escape(run)}</code></p>"
        f"<pre>{_words(first)}{_further(group)}</pre>{_changed(first, data)}{more}</section>"
    )


def _command(known: list[About]) -> str:
    """Runs the tests of these pictures."""
    tests = list(dict.fromkeys(one.test for one in known if one.test))
    return f"python -m pytest {' '.join(map(shlex.quote, tests))}" if tests else ""


def _further(group: Alike) -> str:
    """What changed in others of a group and not in the first, each once."""
    if group.kind != "changed":
        return ""
    names: dict[str, list[str]] = {}
    for change in group.changes[1:]:
        for edit in further_edits(change.difference, group.changes[0].difference):
            names.setdefault(edit.summary(), []).append(PurePosixPath(change.name).stem)
    rows = [
        f"\n* also {html.escape(told)} in {html.escape(', '.join(some[:2]))}"
        + (f" and {len(some) - 2} more" if len(some) > 2 else "")
        for told, some in names.items()
    ]
    left_out = len(rows) - _WORDS_SHOWN
    return "".join(rows[:_WORDS_SHOWN]) + (f"\n… {left_out} more in others of these" if left_out > 0 else "")


def _words(change: Change) -> str:
    """The differences as text: what one reads without a script."""
    rows: list[str] = []
    for before, after in change.difference.words[:_WORDS_SHOWN]:
        if before:
            rows.append(f"<del>- {html.escape(before)}</del>")
        if after:
            rows.append(f"<ins>+ {html.escape(after)}</ins>")
    left_out = len(change.difference.words) - _WORDS_SHOWN
    if left_out > 0:
        rows.append(f"… {left_out} more lines")
    seen: set[tuple[str, str]] = set()
    for text, before, after in change.difference.recoloured:
        if (before, after) in seen or len(seen) >= _WORDS_SHOWN or change.kind in ("new", "gone"):
            continue
        seen.add((before, after))
        what = f"“{html.escape(text[:60])}”: " if text else ""
        rows.append(f"~ {what}{html.escape(before)} → {html.escape(after)}")
    if not change.difference.words:
        moved = change.difference.moved
        rows += [f"&gt; moved: “{html.escape(one.text[:60])}”" for one in moved[:_WORDS_SHOWN]]
        rows += [f"… {len(moved) - _WORDS_SHOWN} more that moved"] if len(moved) > _WORDS_SHOWN else []
    if change.is_broken:
        rows.append("! One of the two files is cut off, or no picture of a terminal.")
    return "\n".join(rows)


def _changed(change: Change, data: Data) -> str:
    told: dict[str, Any] = {"name": change.name, "outlines": list(map(list, change.difference.outlines))}
    if change.kind != "new":
        told["before"] = data.drawing(change.before)
    if change.kind != "gone":
        told["after"] = data.drawing(change.after)
    data.pictures.append(told)
    was = f" (was {change.was})" if change.was else ""
    cells = change.difference.cells
    note = f"{cells} {'cell' if cells == 1 else 'cells'}"
    note += f" · reviewed by {change.reviewer}" if change.reviewer else ""
    return _figure(len(data.pictures) - 1, f"{change.name}{was}", note)


def _figure(number: int, name: str, note: str) -> str:
    return (
        f'<figure data-picture="{number}"><figcaption><b>{html.escape(name)}</b> '
        f"<i>{html.escape(note)}</i></figcaption></figure>"
    )


def _page(title: str, told: str, kind: str, body: str, data: Data) -> str:
    style = (_HERE / "page.css").read_text("utf-8")
    script = (_HERE / "page.js").read_text("utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name=viewport content="width=device-width"><title>{html.escape(title)}</title><style>{style}</style>'
        f"<body class={kind}><header><h1>{html.escape(title)}</h1><span>{html.escape(told)}</span>"
        "<span id=keys></span></header>"
        "<noscript><p class=off>Scripts are off: the differences are told as words, without pictures.</p></noscript>"
        f"<main>{body}</main>"
        f'<script type="application/json" id=data>{data.as_json()}</script><script>{script}</script></body></html>\n'
    )


def _safe_colour(colour: str) -> str:
    is_plain = colour.removeprefix("#").isalnum()
    return colour if is_plain else ""
