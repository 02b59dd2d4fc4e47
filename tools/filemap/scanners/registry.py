"""The line scanners by language."""

from tools.filemap.scanners import markdown
from tools.filemap.scanners.result import Scanner

SCANNERS: dict[str, Scanner] = {
    "markdown": Scanner("Markdown", markdown.scan),
}
