"""What was decided of MCP servers in a session, in its file: who resumes or forks it has the same list of tools.

An entry of a type of its own, which pi keeps and shows nobody. One that cannot be understood is as good as none.
"""

import msgspec

from app.engine.conversation import Conversation
from app.values.entries import CustomEntry, Entry
from app.values.servers import KeptReach

ENTRY = "bayou.mcp"


def reach_kept(conversation: Conversation) -> KeptReach | None:
    """The last that was decided, wherever in the session that was."""
    for entry in reversed(conversation.log.entries):
        if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY:
            try:
                return msgspec.convert(entry.data, KeptReach)
            except msgspec.ValidationError:
                return None
    return None


def keep_reach(conversation: Conversation, reach: KeptReach) -> Entry | None:
    """None where nothing may be written."""
    if conversation.log.is_read_only:
        return None
    return conversation.note(ENTRY, msgspec.to_builtins(reach))
