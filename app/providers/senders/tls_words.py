"""What goes wrong with encryption, as a person understands it: what is the matter with the server, and what to do."""

import ssl
import time

_AUTHORITY = "If a proxy with certificates of its own stands between, name its file in SSL_CERT_FILE."
_NOT_ENCRYPTED = "If it is a server without encryption, its address begins with http://."
_OF_CERTIFICATES = {
    2: "its certificate is of an authority that is not known here",
    18: "its certificate is signed by itself, so nobody vouches for it",
    19: "its certificate is of an authority that is not known here",
    20: "its certificate is of an authority that is not known here",
    21: "its certificate is of an authority that is not known here",
    23: "its certificate was revoked",
}
"""By OpenSSL's number of what a check found."""
_NOT_YET, _EXPIRED, _OTHER_NAMES = 9, 10, (62, 64)
_NO_TLS = frozenset(
    (
        "WRONG_VERSION_NUMBER",
        "HTTP_REQUEST",
        "UNKNOWN_PROTOCOL",
        "RECORD_LAYER_FAILURE",
        "PACKET_LENGTH_TOO_LONG",
    )
)
_TOO_OLD = frozenset(
    ("UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_SSL_VERSION", "VERSION_TOO_LOW")
)
_OWN_CERTIFICATE = frozenset(("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_NO_CERTIFICATE"))
_REFUSED = frozenset(
    ("SSLV3_ALERT_HANDSHAKE_FAILURE", "TLSV1_ALERT_INSUFFICIENT_SECURITY", "NO_SHARED_CIPHER")
)


def tls_words(problem: ssl.SSLError) -> str:
    """What the server did, and what can be done."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return _of_certificate(problem)
    reason = problem.reason or ""
    if reason in _NO_TLS:
        return f"it does not speak TLS. {_NOT_ENCRYPTED}"
    if reason in _TOO_OLD:
        return "it speaks only versions of TLS that are too old to be safe. Whoever runs it has to renew it."
    if reason in _OWN_CERTIFICATE:
        return (
            "it wants a certificate of its clients, and bayou has none to show. "
            "A proxy on this machine that has one can stand between."
        )
    if reason in _REFUSED:
        return "it found no way to encrypt that both know, or wants a certificate of its clients, which bayou has not."
    return f"{reason.replace('_', ' ').lower() or problem}. {_AUTHORITY}"


def _of_certificate(problem: ssl.SSLCertVerificationError) -> str:
    code = problem.verify_code
    if code in (_EXPIRED, _NOT_YET):
        what = "has expired" if code == _EXPIRED else "is not valid yet"
        today = time.strftime("%Y-%m-%d")
        return (
            f"its certificate {what}, by this machine's clock ({today}). If that is wrong, set it right; "
            "if not, whoever runs the server has to renew it."
        )
    if code in _OTHER_NAMES:
        return (
            "its certificate is for other names than this one. Use the address that the server is known by; "
            "if it is the right one, somebody else answers in its place."
        )
    what = _OF_CERTIFICATES.get(code)
    return (
        f"{what or problem.verify_message.rstrip('.') or 'its certificate cannot be believed'}. {_AUTHORITY}"
    )
