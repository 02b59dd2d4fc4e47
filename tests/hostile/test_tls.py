"""Encryption that fails, in every way it can: told in words, with what to do, and tried again only where that helps."""

import json
import os
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.providers.failure_kinds import classify_failure
from app.providers.senders import client
from app.providers.senders.client import close_connections
from tests.hostile.certificates import CertificateAuthority
from tests.hostile.setups import MODEL, run, write_user_settings
from tests.providers.wire_formats import ANSWERS, ask, model_for, options
from tests.support.warm_bayou import BAYOU

API = "openai-completions"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
Talk = Callable[[socket.socket], None]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("tls"))


@contextmanager
def answering(talk: Talk) -> Iterator[int]:
    """A server that does what servers do when encryption fails: it sends its reason and closes. Its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                line.settimeout(10)
                try:
                    talk(line)
                    line.shutdown(socket.SHUT_WR)
                    while line.recv(65536):
                        pass
                except OSError:
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def encrypted(context: ssl.SSLContext, body: bytes | None = None, *, breaks: bool = False) -> Talk:
    """`breaks`: the line is cut below the encryption once the body has been sent."""

    def talk(line: socket.socket) -> None:
        try:
            inner = context.wrap_socket(line.dup(), server_side=True)
        except ssl.SSLError:
            return
        with inner:
            inner.recv(65536)
            inner.sendall(HEAD + (ANSWERS[API]() if body is None else body))
            if not breaks:
                inner.unwrap()

    return talk


async def told(
    port: int, authority: CertificateAuthority | None, host: str = "127.0.0.1", scheme: str = "https"
):
    how = options(ca_bundle=str(authority.file)) if authority else options()
    message = await ask(model_for(API, f"{scheme}://{host}:{port}"), how=how)
    await close_connections()
    return message


def old(context: ssl.SSLContext) -> ssl.SSLContext:
    """What servers spoke ten years ago."""
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
    return context


def wanting_certificates(
    context: ssl.SSLContext, authority: CertificateAuthority, *, is_old: bool = False
) -> ssl.SSLContext:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.file)
    if is_old:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def with_cipher(context: ssl.SSLContext, cipher: str) -> ssl.SSLContext:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(cipher)
    return context


PAST, FUTURE = ("20200101000000Z", "20200102000000Z"), ("20900101000000Z", "20910101000000Z")
CASES: dict[str, tuple[Callable[[CertificateAuthority], ssl.SSLContext], str]] = {
    "expired": (
        lambda one: one.server("old", begins=PAST[0], ends=PAST[1]),
        "certificate has expired. This machine's date is 20",
    ),
    "not yet": (
        lambda one: one.server("new", begins=FUTURE[0], ends=FUTURE[1]),
        "certificate is not yet valid. This machine's date is 20",
    ),
    "signed by itself": (lambda one: one.self_signed(), "self-signed certificate"),
    "other names": (
        lambda one: one.server("other", names="DNS:models.test"),
        "certificate is not valid for",
    ),
    "too old": (
        lambda one: old(one.server("tls1")),
        "only versions of TLS that are too old",
    ),
    "wants a certificate": (
        lambda one: wanting_certificates(one.server("wanting"), one),
        "it wants a certificate of its clients",
    ),
    "wants a certificate, older": (
        lambda one: wanting_certificates(one.server("wanting12"), one, is_old=True),
        "wants a certificate of its clients",
    ),
    "no common cipher": (
        lambda one: with_cipher(one.server("cipher"), "ECDHE-ECDSA-AES128-SHA"),
        "no cipher that both know",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_is_wrong_with_a_server_is_explained_and_not_tried_again(
    name: str, authority: CertificateAuthority
):
    make, words = CASES[name]
    with answering(encrypted(make(authority))) as port:
        message = await told(port, authority)
    text = message.error_message or ""
    assert (
        message.stop_reason == "error"
        and text.startswith(f"TLS error with 127.0.0.1:{port}: ")
        and words in text
    )
    assert "_" not in text.replace("SSL_CERT_FILE", "") and not classify_failure(message).is_retryable


async def test_an_unknown_certificate_authority(authority: CertificateAuthority):
    with answering(encrypted(authority.server("private"))) as port:
        text = (await told(port, None)).error_message or ""
        assert "unable to get local issuer certificate" in text and "SSL_CERT_FILE" in text
        assert (await told(port, authority)).stop_reason == "toolUse"


async def test_plain_http_where_encryption_is_expected(authority: CertificateAuthority):
    def talk(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with answering(talk) as port:
        message = await told(port, authority)
    assert (
        "it does not speak TLS" in (message.error_message or "")
        and not classify_failure(message).is_retryable
    )


async def test_encryption_where_plain_http_is_expected(authority: CertificateAuthority):
    with answering(encrypted(authority.server("secure"))) as port:
        message = await told(port, authority, scheme="http")
    assert "If it speaks TLS, its address begins with https://" in (message.error_message or "")

    def talk(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(b"\x15\x03\x01\x00\x02\x02\x46")

    with answering(talk) as port:
        message = await told(port, authority, scheme="http")
    assert "it speaks TLS. Its address may need to begin with https://" in (message.error_message or "")
    assert not classify_failure(message).is_retryable


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x03\x00\x40"], ids=["at once", "in the first record"])
async def test_a_line_that_is_cut_while_encryption_begins(sent: bytes, authority: CertificateAuthority):
    def talk(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(sent)

    with answering(talk) as port:
        message = await told(port, authority)
    assert "closed the connection (before it was encrypted)" in (message.error_message or "")
    assert classify_failure(message).is_retryable


async def test_a_line_that_is_cut_below_the_encryption_keeps_what_came(authority: CertificateAuthority):
    answer = ANSWERS[API]()
    with answering(encrypted(authority.server("cut"), answer[: len(answer) // 2], breaks=True)) as port:
        message = await told(port, authority)
    assert message.stop_reason == "error" and message.content and classify_failure(message).is_retryable


async def test_a_server_that_begins_to_encrypt_and_never_ends_is_given_up(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(client, "HTTP_CONNECT_TIMEOUT_SECONDS", 0.3)
    hangs = threading.Event()

    def talk(line: socket.socket) -> None:
        line.recv(65536)
        hangs.wait(20)

    with answering(talk) as port:
        message = await told(port, authority)
        hangs.set()
    assert "timed out" in (message.error_message or "") and classify_failure(message).is_retryable


async def test_the_real_program_says_so_and_leaves_the_session_whole(
    authority: CertificateAuthority, tmp_path: Path
):
    folder = Path(os.environ["BAYOU_AGENT_DIR"])
    write_user_settings(retry={"enabled": True})
    with answering(encrypted(authority.server("gone", begins=PAST[0], ends=PAST[1]))) as port:
        entry = {"baseUrl": f"https://127.0.0.1:{port}", "api": API, "apiKey": "k", "models": [{"id": "m"}]}
        (folder / "models.json").write_text(json.dumps({"providers": {"mine": entry}}))
        env = {**os.environ, "NODE_EXTRA_CA_CERTS": str(authority.file)}
        code, out, err = await run(*BAYOU, *MODEL, "-p", "hi", cwd=tmp_path, env=env)
    assert (code, out) == (6, "") and "certificate has expired" in err and "Retrying" not in err
