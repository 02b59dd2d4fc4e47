"""Adds to a wheel what does not lie in it as in the checkout: the package `bayou`, its type stubs, styles and pages.

An editable installation gets none of it, since it has the checkout itself on its path.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "app/package/bayou": "bayou",
    "styles": "bayou/_program/app/_styles",
    "docs": "bayou/_program/app/_docs",
}


class PackageHook(BuildHookInterface[Any]):
    """Runs while hatchling builds the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        if self.root not in sys.path:
            sys.path.insert(0, self.root)
        from app.package.stubs import stubs  # noqa: PLC0415  (only importable now)

        places: dict[str, str] = build_data["force_include"]
        places |= {str(Path(self.root, folder)): place for folder, place in PLACES.items()}
        self._folder = tempfile.TemporaryDirectory()
        for name, text in stubs(Path(self.root)).items():
            file = Path(self._folder.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            places[str(file)] = f"bayou/{name}"
