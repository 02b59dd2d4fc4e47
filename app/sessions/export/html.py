"""A session as one self-contained page: tree at the side, all branches, search, light and dark.

Nothing in it that comes from the session can run: text is escaped, Markdown allows no HTML and no images from
elsewhere, and the page's policy admits only its own script and style by their hashes.
"""

import base64
import hashlib
from html import escape
from pathlib import Path

from app.sessions.export.html_blocks import DrawCard, drawn_by_own_tools
from app.sessions.export.html_body import HtmlBody
from app.sessions.export.text import ChangeEntry, as_it_is
from app.sessions.log import SessionLog

_HERE = Path(__file__).parent


def export_html(
    log: SessionLog,
    *,
    change: ChangeEntry = as_it_is,
    draw: DrawCard | None = None,
) -> str:
    """`draw`: the tools of the session; without them those that come with bayou."""
    style = _own_file("page.css")
    script = _own_file("page.js")
    body = HtmlBody(log, change, draw or drawn_by_own_tools())
    title = escape(body.title())
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>",
            '<nav aria-label="Session"><div class="tools">'
            '<input id="search" type="search" placeholder="Search (/)" aria-label="Search">',
            '<button id="theme" type="button">Light or dark</button>'
            '<button id="open" type="button">Open or close all</button> <span id="count" role="status"></span></div>',
            body.tree(),
            f"</nav>\n<main>\n{body.facts()}",
            *body.articles(),
            "</main>",
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _own_file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
