"""A setting that nobody reads promises something that does not happen."""

import re

from app.resources.settings import keys
from tests.architecture.sources import ROOT

_WITHOUT_READER: set[str] = set()
"""Found out; whoever gives one of these its reader takes it away here."""
_DECLARED = re.compile(r"/resources/(settings\w*|pi_settings)\.py$")


def test_every_setting_is_read_somewhere():
    """By its attribute, or by its name in the file where an extension reads its own group."""
    files = [path for part in ("app", "widgets", "tools") for path in (ROOT / part).rglob("*.py")]
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in files if not _DECLARED.search(path.as_posix())
    )
    words = set(re.findall(r"\.(\w+)|\"(\w+)\"", text))
    read = {word for pair in words for word in pair}
    dead = [key.name for key in keys() if not {_attribute(key.path[-1]), key.path[-1]} & read]
    dead = [name for name in dead if name not in _WITHOUT_READER]
    assert dead == [], "Make it count, or take it away."


def _attribute(name: str) -> str:
    return re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)
