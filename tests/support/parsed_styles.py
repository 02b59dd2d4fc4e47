"""Parses each style sheet once per test run instead of once per application.

The same text at the same place with the same colours gives the same rules, which are not
modified after parsing. The private API of Textual needed for this is used only here."""

from collections.abc import Iterable
from typing import Any

import textual.css.stylesheet
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.tokenize import tokenize_values

_parsed: dict[tuple[Any, ...], list[RuleSet]] = {}
_tokens: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
_colours: dict[int, int] = {}
"""The colour set of each tokens object, which is kept alive so that its id is not reused."""


def install() -> None:
    """Installs the cache for the whole test run."""
    textual.css.stylesheet.parse = _parse_once  # type: ignore[attr-defined]
    textual.css.stylesheet.tokenize_values = _tokenize_once  # type: ignore[attr-defined]


def _tokenize_once(values: dict[str, str]) -> dict[str, Any]:
    key = tuple(sorted(values.items()))
    if key not in _tokens:
        _tokens[key] = tokenize_values(values)
        _colours[id(_tokens[key])] = len(_colours)
    return _tokens[key]


def _parse_once(
    scope: str, css: str, read_from: Any, *, variable_tokens: Any, **how: Any
) -> Iterable[RuleSet]:
    colours = _colours.get(id(variable_tokens))
    key = (scope, css, read_from, colours, *sorted(how.items()))
    if colours is None or key not in _parsed:
        rules = list(parse(scope, css, read_from, variable_tokens=variable_tokens, **how))
        if colours is None:
            return rules
        _parsed[key] = rules
    return _parsed[key]
