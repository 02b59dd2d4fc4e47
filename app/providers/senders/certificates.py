"""Whom to believe that a server is who it says: the usual certificates, and those of private authorities."""

import os
import ssl
import threading
from functools import cache
from pathlib import Path

from app.providers.errors import ProviderError

_EXTRA_BUNDLES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_one_at_a_time = threading.Lock()


def bundle_of(given: str | None) -> str:
    """The file with further certificates: what the options name, else the environment."""
    return given or next((os.environ[name] for name in _EXTRA_BUNDLES if os.environ.get(name)), "")


def must_be_readable(bundle: str) -> None:
    """A file that is not there is told at the first request, encrypted or not. Raises `ProviderError`."""
    try:
        if bundle:
            Path(bundle).open("rb").close()
    except OSError as problem:
        raise ProviderError(f"The certificate file {bundle} cannot be read: {problem}") from None


def trusted(bundle: str) -> ssl.SSLContext:
    """What connections are checked with. Takes 20 ms the first time, most of it beside Python: call it on a thread.

    Who asks while another thread reads the same files waits for that one. Raises `ProviderError`.
    """
    with _one_at_a_time:
        return _read(os.environ.get("SSL_CERT_FILE") or "", bundle)


@cache
def _read(usual: str, bundle: str) -> ssl.SSLContext:
    import certifi  # noqa: PLC0415  (only encrypted connections need it)

    try:
        context = ssl.create_default_context(cafile=usual or certifi.where())
    except (OSError, ssl.SSLError) as problem:
        raise ProviderError(
            f"The certificate file {usual} (SSL_CERT_FILE) cannot be read: {problem}"
        ) from None
    if bundle:
        try:
            context.load_verify_locations(cafile=bundle)
        except (OSError, ssl.SSLError) as problem:
            raise ProviderError(f"The certificate file {bundle} cannot be read: {problem}") from None
    return context
