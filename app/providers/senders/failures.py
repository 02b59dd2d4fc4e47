"""What a failing connection means, in words."""

import ssl
from urllib.parse import urlsplit

from app.providers.errors import ProviderError
from app.providers.senders.tls_words import tls_words

CONNECT_SECONDS = 30.0
HTTP2_ONLY = "it speaks HTTP/2 only"
TLS_ONLY = "it speaks TLS"
_REFUSED_PROTOCOLS = ("NO_APPLICATION_PROTOCOL", "no application protocol")
"""How TLS says that nothing but HTTP/2 is spoken here."""


def connection_error(problem: BaseException, url: str) -> ProviderError:
    """For exceptions of whichever library sends: they are known by their names, so that none has to be imported."""
    if isinstance(problem, ProviderError):
        return problem
    host = urlsplit(url).netloc.rpartition("@")[2]
    names = {kind.__name__ for kind in type(problem).__mro__}
    cause = _innermost(problem)
    if HTTP2_ONLY in str(cause) or any(mark in str(cause) for mark in _REFUSED_PROTOCOLS):
        return ProviderError(
            f"{host} did not answer in HTTP/1.1: {HTTP2_ONLY}. Put a proxy before it that speaks both."
        )
    if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        when = "before it was encrypted" if "ConnectError" in names else "in the middle of its answer"
        return ProviderError(f"Connection error: {host} closed the connection ({when}).", kind="connection")
    if isinstance(cause, ssl.SSLError):
        return ProviderError(f"TLS error with {host}: {tls_words(cause)}", kind="tls")
    if names & {"TimeoutException", "APITimeoutError"} or isinstance(cause, TimeoutError):
        return ProviderError(
            f"Request timed out: no connection to {host} within {CONNECT_SECONDS:g} s.", kind="timeout"
        )
    if "ProxyError" in names:
        return ProviderError(f"Connection error: the proxy refused: {cause}", kind="connection")
    if names & {"RemoteProtocolError", "ReadError", "StreamClosed"}:
        told = str(cause) or "in the middle of its answer"
        if TLS_ONLY in told:
            return ProviderError(
                f"{host} cannot be understood: {TLS_ONLY}. Its address begins with https://.", kind="tls"
            )
        if url.startswith("http:") and "without sending a response" in told:
            told += " If it speaks TLS, its address begins with https://"
        return ProviderError(f"Connection error: {host} closed the connection ({told}).", kind="connection")
    if names & {"TransportError", "NetworkError", "APIConnectionError", "DecodingError"} or isinstance(
        problem, OSError
    ):
        return ProviderError(f"Connection error: {host}: {cause}", kind="connection")
    if names & {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "UnicodeError"}:
        return ProviderError(f"{url} cannot be asked: {cause}")
    return ProviderError(str(problem) or type(problem).__name__)


def _innermost(problem: BaseException) -> BaseException:
    """The cause at the bottom that has something to say."""
    best = problem
    current: BaseException | None = problem
    for _ in range(10):
        current = (current.__cause__ or current.__context__) if current is not None else None
        if isinstance(current, BaseExceptionGroup):  # several addresses were tried
            current = current.exceptions[0]
        if current is None:
            break
        if isinstance(current, ssl.SSLWantReadError | ssl.SSLWantWriteError):
            continue  # that more was waited for is nothing wrong with the encryption
        if isinstance(current, ssl.SSLError):
            return current
        if isinstance(current, OSError) and str(current):
            best = current
    return best
