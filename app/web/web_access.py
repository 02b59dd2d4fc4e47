"""The user's settings for pages of the web, for the tool that loads the network's library only when it is called."""

from collections.abc import Sequence

import msgspec

from app.resources.settings.settings import Settings


class WebAccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings for fetching web pages: private hosts, plain http and the proxy."""

    private_hosts: Sequence[str] = ()
    allows_http: bool = False
    proxy: str | None = None


def read_web_access_settings(settings: Settings) -> WebAccessSettings:
    return WebAccessSettings(
        private_hosts=settings.web.private_hosts,
        allows_http=settings.web.allow_http,
        proxy=settings.network.http_proxy,
    )
