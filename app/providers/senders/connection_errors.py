"""Explains connection failures: the fault, and the next step of the user."""

import ssl
import time
from urllib.parse import urlsplit

from app.providers.errors import ProviderError
from app.providers.senders.client import HTTP_CONNECT_TIMEOUT_SECONDS
from app.providers.senders.early_response_transport import HTTP2_ONLY_TEXT, TLS_ONLY_TEXT

_CERTIFICATE_HINT = "If a proxy uses its own certificates, name their file in SSL_CERT_FILE."
_ERROR_TEXT_BY_TLS_REASON = {
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "it speaks HTTP/2 only. Put a proxy before it that speaks both.",
    **dict.fromkeys(
        ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"),
        "it does not speak TLS. If it is a server without encryption, its address begins with http://.",
    ),
    **dict.fromkeys(
        ("UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"),
        "it speaks only versions of TLS that are too old to be safe.",
    ),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a certificate of its clients, and bayou has none to show.",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it found no cipher that both know, or wants a certificate of its clients.",
}
"""Explanations of TLS failures, by OpenSSL's name of the reason."""


def explain_connection_error(problem: BaseException, url: str) -> ProviderError:
    """Converts exceptions of httpx2 and the vendors' SDKs, recognised by name so that no SDK is imported."""
    if isinstance(problem, ProviderError):
        return problem
    host = urlsplit(url).netloc.rpartition("@")[2]
    names = {kind.__name__ for kind in type(problem).__mro__}
    cause = _innermost_cause(problem)
    told = str(cause)
    if HTTP2_ONLY_TEXT in told:
        return ProviderError(
            f"{host} did not answer in HTTP/1.1: {told}. Use a proxy that supports both versions."
        )
    if told == TLS_ONLY_TEXT:
        return ProviderError(
            f"{host} sent an unreadable answer: {told}. Its address may need to begin with https://.",
            kind="tls",
        )
    if isinstance(cause, ssl.SSLError):
        return _explain_tls_error(cause, host, is_open="ConnectError" not in names)
    if names & {"TimeoutException", "APITimeoutError"} or isinstance(cause, TimeoutError):
        return ProviderError(
            f"Request timed out: no connection to {host} within {HTTP_CONNECT_TIMEOUT_SECONDS:g} s.",
            kind="timeout",
        )
    if "ProxyError" in names:
        return ProviderError(f"Connection error: the proxy refused: {told}", kind="connection")
    if "DecodingError" in names:
        return ProviderError(
            f"Connection error: the answer's content encoding is damaged: {told}.", kind="connection"
        )
    if names & {"RemoteProtocolError", "ReadError", "StreamClosed"}:
        told = told or "in the middle of its answer"
        if url.startswith("http:") and "without sending a response" in told:
            told += " If it speaks TLS, its address begins with https://"
        return ProviderError(f"Connection error: {host} closed the connection ({told}).", kind="connection")
    if names & {"TransportError", "APIConnectionError"} or isinstance(problem, OSError):
        return ProviderError(f"Connection error: {host}: {told}", kind="connection")
    if names & {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "UnicodeError"}:
        return ProviderError(f"{url} cannot be requested: {told}")
    return ProviderError(str(problem) or type(problem).__name__)


def _explain_tls_error(problem: ssl.SSLError, host: str, *, is_open: bool) -> ProviderError:
    reason = problem.reason or ""
    if isinstance(problem, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        when = "in the middle of its answer" if is_open else "before it was encrypted"
        return ProviderError(f"Connection error: {host} closed the connection ({when}).", kind="connection")
    if isinstance(problem, ssl.SSLCertVerificationError):
        what = problem.verify_message.rstrip(".") or "it cannot be verified"
        is_of_time = "expired" in what or "not yet" in what
        hint = f"This machine's date is {time.strftime('%Y-%m-%d')}." if is_of_time else _CERTIFICATE_HINT
        told = f"its certificate was refused: {what}. {hint}"
    else:
        told = (
            _ERROR_TEXT_BY_TLS_REASON.get(reason)
            or f"{reason.replace('_', ' ').lower() or problem}. {_CERTIFICATE_HINT}"
        )
    return ProviderError(f"TLS error with {host}: {told}", kind="tls")


def _innermost_cause(problem: BaseException) -> BaseException:
    """Returns the deepest cause that has a message."""
    best = problem
    current: BaseException | None = problem
    for _ in range(10):
        current = (current.__cause__ or current.__context__) if current is not None else None
        if isinstance(current, BaseExceptionGroup):  # several addresses were tried
            current = current.exceptions[0]
        if current is None:
            break
        if isinstance(current, ssl.SSLWantReadError | ssl.SSLWantWriteError):
            continue  # waiting for more bytes is no encryption error
        if isinstance(current, ssl.SSLError):
            return current
        if isinstance(current, OSError) and str(current):
            best = current
    return best
