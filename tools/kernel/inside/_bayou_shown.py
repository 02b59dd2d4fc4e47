"""Displays the values of Python cells: as text that is limited while it grows, as Markdown, HTML, JSON, or as a
picture."""
# pyright: basic

import os
import sys

MAX_VALUE_REPR_CHARS = 8000
_MAX_PICTURES_PER_CELL = 4
_MAX_RICH_VALUES_PER_CELL = 20
_MAX_RICH_TEXT_CHARS = 200_000
_MAX_PICTURE_BYTES = 15_000_000
_MAX_INTEGER_DIGITS_SHOWN = 12_000
_MAX_REPR_NESTING = 40


class ValueDisplay:
    """Sends the values that the running cell displays to bayou."""

    def __init__(self, link, flush):
        self._link = link
        self._flush = flush
        self.begin_cell()

    def begin_cell(self):
        self._pictures = self._rich = self._left_out = 0
        self._notes = []

    def take_display_notes(self):
        notes = self._notes
        if self._left_out:
            pictures = "picture" if self._left_out == 1 else "pictures"
            notes.append(
                f"{self._left_out} more {pictures} not shown: at most {_MAX_PICTURES_PER_CELL} a cell."
            )
        self.begin_cell()
        return notes

    def display(self, *values):
        """Displays values in the form in which the last value of a cell is displayed."""
        for value in values:
            if not self._as_rich(value):
                sys.stdout.write(bounded_repr(value) + "\n")

    def value_text(self, value):
        """Returns the text of a cell's value; None if it was displayed in another form."""
        return None if self._as_rich(value) else bounded_repr(value)

    def display_figures(self):
        """Displays the figures of matplotlib's pyplot that have not been shown."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            self._as_rich(pyplot.figure(number))

    def _as_rich(self, value):
        if isinstance(value, type):
            return False
        if _is_figure(value):
            import io  # noqa: PLC0415  (only for pictures)

            picture = io.BytesIO()
            value.savefig(picture, format="png", bbox_inches="tight")
            pyplot = sys.modules.get("matplotlib.pyplot")
            if pyplot is not None:
                pyplot.close(value)
            self._picture("image/png", picture.getvalue())
            return True
        found = _mime_bundle(value)
        for kind in ("image/png", "image/jpeg"):
            if found.get(kind):
                self._picture(kind, found[kind])
                return True
        if found.get("application/json") is not None:
            return self._send("json", _json_text(found["application/json"]))
        if isinstance(found.get("text/markdown"), str):
            return self._send("markdown", found["text/markdown"])
        html = found.get("text/html")
        if isinstance(html, str) and _is_default_repr(value, found.get("text/plain")):
            return self._send("html", html)
        return False

    def _picture(self, kind, data):
        import base64  # noqa: PLC0415  (only for pictures)

        if isinstance(data, str):
            data = base64.b64decode(data)
        if self._pictures >= _MAX_PICTURES_PER_CELL:
            self._left_out += 1
        elif len(data) > _MAX_PICTURE_BYTES:
            self._notes.append(f"A picture of {len(data):,} bytes was not shown: it is too large.")
        else:
            self._pictures += 1
            self._send(kind, base64.b64encode(data).decode())

    def _send(self, kind, data):
        if not kind.startswith("image/"):
            self._rich += 1
            if self._rich > _MAX_RICH_VALUES_PER_CELL:
                return False
            if len(data) > _MAX_RICH_TEXT_CHARS:
                data = data[:_MAX_RICH_TEXT_CHARS] + "\n… (cut)"
        self._flush()
        # Later output must follow it: so this waits until bayou has received it.
        self._link.ask(
            {"op": "show", "kind": kind, "data": data.encode("utf-8", "backslashreplace").decode()}
        ).wait()
        return True


def _is_figure(value):
    return type(value).__module__.startswith("matplotlib.figure") and hasattr(value, "savefig")


_REPR_METHOD_BY_MIME_TYPE = {
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
    "text/markdown": "_repr_markdown_",
    "text/html": "_repr_html_",
}


def _mime_bundle(value):
    """Returns the representations of a value by MIME type, as notebooks use them."""
    kind = type(value)
    found = {}
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        try:
            given = value._repr_mimebundle_(include=None, exclude=None)
        except Exception:  # noqa: BLE001  (a value that cannot be shown so is shown as text)
            given = None
        given = given[0] if isinstance(given, tuple) else given
        found = dict(given) if isinstance(given, dict) else {}
    for name, method in _REPR_METHOD_BY_MIME_TYPE.items():
        if found.get(name) is None and getattr(kind, method, None) is not None:
            try:
                given = getattr(value, method)()
            except Exception:  # noqa: BLE001  (as above)
                continue
            given = given[0] if isinstance(given, tuple) and name != "application/json" else given
            if given is not None:
                found[name] = given
    return found


def _is_default_repr(value, plain):
    text = plain if isinstance(plain, str) else bounded_repr(value, 400)
    return text.startswith("<") and text.rstrip().endswith(">") and "object" in text


def _json_text(value):
    import json  # noqa: PLC0415  (only for trees)

    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=repr)
    except (TypeError, ValueError):
        return json.dumps(bounded_repr(value))


def bounded_repr(value, limit=MAX_VALUE_REPR_CHARS):
    """Returns the `repr` of a value, cut at `limit` characters; containers are traversed only as far as shown."""
    walk = _BoundedRepr(limit)
    walk.add(value, 0)
    return walk.text()


class _LimitReached(Exception):
    pass


class _BoundedRepr:
    def __init__(self, limit):
        self._parts = []
        self._left = limit
        self._open = set()
        self._cut_note = ""

    def text(self):
        return "".join(self._parts).encode("utf-8", "backslashreplace").decode() + self._cut_note

    def add(self, value, depth):
        try:
            self._add_value(value, depth)
        except _LimitReached:
            if not self._cut_note:
                self._cut_note = "… (cut)"

    def _append_text(self, text):
        if len(text) > self._left:
            self._parts.append(text[: self._left])
            self._left = 0
            raise _LimitReached
        self._parts.append(text)
        self._left -= len(text)

    def _add_value(self, value, depth):
        kind = type(value)
        if kind in (list, tuple, set, frozenset, dict):
            self._add_container(value, kind, depth)
        elif kind in (str, bytes, bytearray) and len(value) > self._left:
            self._cut_note = f"… ({kind.__name__} of {len(value):,})"
            self._append_text(repr(value[: self._left]))
            raise _LimitReached
        elif kind is int and value.bit_length() > _MAX_INTEGER_DIGITS_SHOWN:
            self._append_text(f"<int of {value.bit_length():,} bits>")
        else:
            self._append_text(_plain_repr(value))

    def _add_container(self, value, kind, depth):
        if id(value) in self._open or depth > _MAX_REPR_NESTING:
            self._append_text("...")
            return
        if not value:
            self._append_text(repr(value))
            return
        self._open.add(id(value))
        begin, end = {list: "[]", tuple: "()", dict: "{}", set: "{}"}.get(kind) or ("frozenset({", "})")
        try:
            self._append_text(begin)
            for at, one in enumerate(value):
                if at:
                    self._append_text(", ")
                self._add_value(one, depth + 1)
                if kind is dict:
                    self._append_text(": ")
                    self._add_value(value[one], depth + 1)
            if kind is tuple and len(value) == 1:
                self._append_text(",")
            self._append_text(end)
        except _LimitReached:
            if depth == 0:
                self._cut_note = f"… ({kind.__name__} of {len(value):,})"
            raise
        finally:
            self._open.discard(id(value))


def _plain_repr(value):
    text = repr(value)
    return text if type(text) is str else str.__str__(text)


current_displays = []
"""The `ValueDisplay` objects that the matplotlib backend sends figures to."""


class FiguresBackendFinder:
    """Lets matplotlib find the kernel's backend in this process only; child processes use another one."""

    def __init__(self, shown):
        self._shown = shown
        self._before = None

    def find_spec(self, name, path=None, target=None):
        if name == "matplotlib" and not self._before:
            self._before = (os.environ.get("MPLBACKEND"),)
            if self._before[0] is None:
                os.environ["MPLBACKEND"] = "module://_bayou_figures"
        elif name.startswith("matplotlib.backends") or name == "matplotlib.pyplot":
            if self._before == (None,) and os.environ.get("MPLBACKEND", "").startswith("module://_bayou"):
                os.environ["MPLBACKEND"] = "agg"
        elif name == "_bayou_figures":
            from importlib.util import spec_from_file_location  # noqa: PLC0415  (only for matplotlib)

            current_displays[:] = [self._shown]
            return spec_from_file_location(name, os.path.join(os.path.dirname(__file__), "_bayou_figures.py"))
        return None
