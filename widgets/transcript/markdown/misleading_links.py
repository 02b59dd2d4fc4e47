"""Detects links whose text looks like another address than their target."""

import re
from urllib.parse import SplitResult, urlsplit

from tools.lazy_patterns import lazy_regex
from widgets.transcript.leaves.safe_text import clean

_ADDRESS_PATTERN = lazy_regex(
    r"(?P<scheme>[a-z][a-z0-9+.-]*://)?(?P<user>[^\s/@]+@)?"
    r"(?P<host>[^\s/@:?#()<>\[\]\"',;]+\.[^\s/@:?#()<>\[\]\"',;.]{2,}|localhost|\d+(?:\.\d+){3})"
    r"(?P<port>:\d+)?(?P<rest>[/?#]\S*)?",
    re.IGNORECASE,
)
_FILE_SUFFIXES = frozenset(
    [
        "py",
        "md",
        "js",
        "ts",
        "rs",
        "go",
        "sh",
        "rb",
        "cs",
        "pl",
        "so",
        "cc",
        "hs",
        "ml",
        "mm",
        "kt",
        "vb",
        "ps",
        "cp",
        "hh",
        "el",
        "ex",
        "fs",
        "jl",
        "pm",
        "pp",
        "st",
        "tf",
        "vi",
        "id",
        "db",
        "gz",
        "xz",
        "xs",
        "in",
        "am",
    ]
)
"""Two-letter file suffixes that are common in an agent's text, although some are country domains
too."""
_COMMON_TOP_LEVEL_DOMAINS = frozenset(
    [
        "com",
        "org",
        "net",
        "edu",
        "gov",
        "mil",
        "int",
        "info",
        "biz",
        "name",
        "app",
        "dev",
        "cloud",
        "site",
        "online",
        "shop",
        "store",
        "xyz",
        "tech",
        "page",
        "link",
        "live",
        "blog",
    ]
)
_MAX_DISPLAY_CELLS = 80


def misleading_target(words: str, href: str) -> str:
    """Returns a link's real target if its text looks like another address; otherwise an empty text."""
    target = _split(href)
    if target is None:
        return ""
    for match in _ADDRESS_PATTERN.finditer(clean(words)):
        if _is_address(match) and not _is_intended_link(match, target):
            return _display_target(target)
    return ""


def _split(href: str) -> SplitResult | None:
    try:
        target = urlsplit(href)
        return target if target.hostname or target.scheme == "mailto" else None
    except ValueError:
        return None


def _is_address(match: "re.Match[str]") -> bool:
    last = match["host"].rpartition(".")[2].lower()
    is_country = len(last) == 2 and last.isalpha() and last not in _FILE_SUFFIXES
    return (
        bool(match["scheme"] or match["user"])
        or last in _COMMON_TOP_LEVEL_DOMAINS
        or is_country
        or last.isdigit()
    )


def _is_intended_link(match: "re.Match[str]", target: SplitResult) -> bool:
    if target.scheme == "mailto":
        return target.path.lower() == f"{match['user'] or ''}{match['host']}".lower()
    if _bare_host(match["host"]) != _bare_host(target.hostname or "") or match["user"]:
        return False
    if match["port"] and match["port"] != f":{target.port}":
        return False
    said = (match["rest"] or "").rstrip("/….,")
    rest = (
        target.path
        + (f"?{target.query}" if target.query else "")
        + (f"#{target.fragment}" if target.fragment else "")
    )
    return rest.startswith(said)


def _bare_host(host: str) -> str:
    return host.lower().rstrip(".").removeprefix("www.")


def _display_target(target: SplitResult) -> str:
    """Formats a link's target so that its decisive part, the host, comes first and stays visible if the rest is cut."""
    if target.scheme == "mailto":
        return target.path[:_MAX_DISPLAY_CELLS]
    port = f":{target.port}" if target.port else ""
    text = f"{target.scheme}://{target.hostname}{port}{target.path}"
    return text if len(text) <= _MAX_DISPLAY_CELLS else f"{text[: _MAX_DISPLAY_CELLS - 1]}…"
