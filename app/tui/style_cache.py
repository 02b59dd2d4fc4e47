"""Caches the page's parsed style rules in a file from one start to the next.

A file is used only if it belongs to the user and was written by this parser for these colours. Unpickling admits only
the plain value classes of style rules."""

import hashlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import textual.css.parse
from textual.css.model import Selector, SelectorSet
from textual.css.styles import Styles

from tools.files.atomic_replacement import replace_file_atomically

ParsedRules = Mapping[tuple[Any, ...], list[Any]]
"""Parsed rules by their source: text, location and precedence."""
_PICKLABLE_MODULES = (
    "textual.color",
    "textual.css.model",
    "textual.css.scalar",
    "textual.css.styles",
    "textual.css.transition",
    "textual.geometry",
    "textual.layouts.grid",
    "textual.layouts.horizontal",
    "textual.layouts.stream",
    "textual.layouts.vertical",
    "rich.color",
    "rich.style",
    "textual.style",
)


def load_cached_style_rules(path: Path, variables: Mapping[str, str]) -> ParsedRules:
    """Loads the parsed style rules of the last start; returns none if the file is missing, unsafe, or from another
    parser or other colours."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o022 or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
                return {}
            mark, content = file.read(hashlib.sha256().digest_size), file.read()
        return _RuleUnpickler(io.BytesIO(content)).load() if mark == _cache_key(variables, content) else {}
    except Exception:  # noqa: BLE001  (any error: the styles are parsed instead)
        return {}


def save_style_rules_cache(path: Path, variables: Mapping[str, str], rules: ParsedRules) -> None:
    """Saves the parsed style rules for the next start; after an error the next start parses them again."""
    out = io.BytesIO()
    try:
        _RulePickler(out, 5).dump(dict(rules))
        content = out.getvalue()
        replace_file_atomically(path, _cache_key(variables, content) + content, mode=0o600, durable=False)
    except (OSError, pickle.PicklingError):
        pass


def _cache_key(variables: Mapping[str, str], content: bytes) -> bytes:
    """Returns a hash by which cached style rules are recognised as valid: of the content, the parser's file and the
    colours."""
    parser = Path(textual.css.parse.__file__).stat()
    made_by = (sys.version, textual.css.parse.__file__, parser.st_mtime_ns, parser.st_size)
    mark = hashlib.sha256(repr((made_by, sorted(variables.items()))).encode())
    mark.update(content)
    return mark.digest()


class _RulePickler(pickle.Pickler):
    """A pickler for style rules that writes every value as a call of its class, so that loading needs to allow only
    classes."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Enum):
            return type(obj), (obj.value,)
        if isinstance(obj, Selector):
            fields = (obj.name, obj.combinator, obj.type, obj.pseudo_classes, obj.specificity, obj.advance)
            return Selector, fields
        if isinstance(obj, SelectorSet):
            return SelectorSet, (obj.selectors, obj.specificity)
        if isinstance(obj, Styles):
            return Styles, (None, obj.get_rules(), 0, obj.important)
        return NotImplemented


class _RuleUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if module in _PICKLABLE_MODULES and name.isidentifier():
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no value of a style")
