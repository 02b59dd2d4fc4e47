"""How the model that answers is asked to write edits: by the settings, else by what it was trained on."""

import fnmatch
import re
from typing import Final

from app.engine.choice import ModelChoice
from app.resources.in_force import InForce
from app.resources.settings_agent import EditWay
from app.values.models import Model
from tools.edits.modes import EditMode
from tools.patterns import late

_TRAINED_ON_PATCHES: Final = late(r"(?:^|[/.:])(?:openai[/.])?(?:gpt-[5-9]|codex)|-codex", re.IGNORECASE)


def edit_mode(in_force: InForce, choice: ModelChoice) -> EditMode:
    """The one of the model that is chosen now."""
    chosen, model = in_force.settings.edit, choice.model
    way = chosen.mode
    if model is not None and chosen.models:
        names = (model.key.casefold(), model.id.casefold())
        for pattern, own in chosen.models.items():
            if any(fnmatch.fnmatchcase(name, pattern.casefold()) for name in names):
                way = own
                break
    return _of_family(model) if way == "auto" else _named(way)


def _named(way: EditWay) -> EditMode:
    return "anchored" if way in ("anchored", "hashline") else "patch" if way == "patch" else "replace"


def _of_family(model: Model | None) -> EditMode:
    """Never anchors by themselves: what they cost is certain, what they bring depends on the model."""
    if model is None:
        return "replace"
    said = (model.compat or {}).get("editMode")
    if said in ("replace", "anchored", "patch"):
        return said
    return "patch" if _TRAINED_ON_PATCHES.search(model.id) else "replace"
