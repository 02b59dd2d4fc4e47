"""The user's settings for pages of the web, for the tool that loads the network's library only when it is called."""

from collections.abc import Sequence

import msgspec


class WebAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What the user's settings let a fetch do."""

    private_hosts: Sequence[str] = ()
    allows_http: bool = False
    proxy: str | None = None
