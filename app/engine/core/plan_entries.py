"""Whether a plan is being made at a place of the tree: an entry there says so."""

from app.sessions.log import SessionLog
from app.values.entries import CustomEntry

ENTRY = "bayou.plan"
"""Whether plan mode is on from here; a session is resumed in it."""


def is_planned(log: SessionLog) -> bool:
    said = (
        one
        for one in log.upwards(without_messages=True)
        if isinstance(one, CustomEntry) and one.custom_type == ENTRY
    )
    entry = next(said, None)
    return entry is not None and entry.data == {"on": True}
