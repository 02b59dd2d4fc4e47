"""The beginning of the next request, prompt and tools, as cached JSON."""

from collections.abc import Mapping, Sequence

import msgspec

from app.engine.core.conversation import prompt_text
from app.engine.core.toolbox import declared
from app.values.codec import encode_json
from app.values.wire import to_wire
from tools.base import Tool


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt and tools as raw JSON."""

    prompt: msgspec.Raw
    tools: msgspec.Raw


class RequestHeads:
    """Caches the last head until the sections or the tools change."""

    def __init__(self) -> None:
        self._sections: Mapping[str, str] = {}
        self._tools: tuple[Tool, ...] = ()
        self._last = _encode_head({}, ())

    def of(self, sections: Mapping[str, str], tools: Sequence[Tool]) -> RequestHead:
        asked = tuple(tools)
        if asked != self._tools or sections != self._sections:
            self._last = _encode_head(sections, asked)
            self._sections, self._tools = dict(sections), asked
        return self._last


def _encode_head(sections: Mapping[str, str], tools: Sequence[Tool]) -> RequestHead:
    told = declared({tool.name: tool for tool in tools})
    return RequestHead(
        prompt=msgspec.Raw(encode_json(prompt_text(sections))), tools=msgspec.Raw(encode_json(to_wire(told)))
    )
