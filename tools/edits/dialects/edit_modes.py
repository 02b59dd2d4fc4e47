"""The forms in which a model writes edits: old and new texts, anchors of lines, or a patch."""

from typing import Literal, get_args

EditMode = Literal["replace", "anchored", "patch"]
EDIT_MODES: tuple[EditMode, ...] = get_args(EditMode)
