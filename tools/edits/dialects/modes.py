"""How a model is asked to write edits: by old and new texts, by anchors of lines, or as a patch."""

from typing import Literal, get_args

EditMode = Literal["replace", "anchored", "patch"]
MODES: tuple[EditMode, ...] = get_args(EditMode)
