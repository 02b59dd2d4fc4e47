"""Loads the certificates that server connections are verified with: the usual ones and those of private
authorities."""

import os
import ssl
import threading
from functools import cache
from pathlib import Path

from app.providers.errors import ProviderError

_CA_BUNDLE_VARIABLES = ("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_tls_context_lock = threading.Lock()


def find_certificate_bundle(given: str | None) -> str:
    """Returns the file with additional certificates: from the options, else from the environment."""
    return given or next((os.environ[name] for name in _CA_BUNDLE_VARIABLES if os.environ.get(name)), "")


def check_certificate_bundle_readable(bundle: str) -> None:
    """Reports an unreadable certificate file at the first request, even an unencrypted one. Raises
    `ProviderError`."""
    try:
        if bundle:
            Path(bundle).open("rb").close()
    except OSError as problem:
        raise ProviderError(f"The certificate file {bundle} cannot be read: {problem}") from None


def tls_context(bundle: str) -> ssl.SSLContext:
    """Returns the TLS context that verifies connections. The first call takes 20 ms, mostly outside the
    interpreter lock: call it on a thread.

    A lock makes concurrent callers wait for the first. Raises `ProviderError`."""
    with _tls_context_lock:
        return _load_tls_context(os.environ.get("SSL_CERT_FILE") or "", bundle)


@cache
def _load_tls_context(usual: str, bundle: str) -> ssl.SSLContext:
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
