"""What servers and what stands before them do to the wire, byte by byte, over real sockets."""

import asyncio
import gzip
import socket
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.providers.failure_kinds import classify_failure
from app.values.messages import AssistantMessage, user_message
from tests.providers.loopback import Loopback
from tests.providers.raw_wire import API, BODY, HEAD, WHOLE, Talk, Wire, failed, is_whole, wire
from tests.providers.wire_formats import ask, context, model_for, options


async def answered(*pieces: bytes, pause: bool = True) -> AssistantMessage:
    """The message that comes of an answer in these pieces; the connection ends behind them."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if pause:
                await asyncio.sleep(0)  # a separate packet

    async with wire(talk) as server:
        return await ask(model_for(API, server.url))


def chunked(*pieces: bytes, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n" + trailer + b"\r\n"


# What is allowed, and rare


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + WHOLE,
        chunked(BODY[:50], BODY[50:], extension=b';name="a;b"'),
        chunked(BODY, trailer=b"X-Checksum: abc\r\nX-More: 1\r\n"),
        chunked(*(BODY[at : at + 1] for at in range(len(BODY)))),
        HEAD + b"\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + BODY,
        WHOLE.replace(b"200 OK", b"200"),
        WHOLE.replace(b"Content-Type:", b"content-TYPE:"),
        WHOLE.replace(b"Content-Type:", b"X-Long: " + b"y" * 60_000 + b"\r\nContent-Type:"),
        WHOLE + b"something behind the end",
    ],
    ids=[
        "100-continue", "two kinds of 1xx", "chunk extensions", "trailers", "chunks of one byte",
        "neither length nor chunks", "HTTP/1.0", "no reason phrase", "odd case", "60 KB of header", "words behind it",
    ],
)  # fmt: skip
async def test_unusual_answers_are_read(answer: bytes):
    assert is_whole(await answered(answer))
    assert is_whole(await answered(*(answer[at : at + 97] for at in range(0, len(answer), 97))))


async def test_a_header_that_drips_is_waited_for():
    assert is_whole(await answered(*(WHOLE[at : at + 1] for at in range(120)), WHOLE[120:]))


# What is broken


async def test_a_connection_that_breaks_after_any_byte():
    """Breaks at every byte of the head and every thirteenth of the body, each in a separate connection."""
    cuts = [*range(len(WHOLE) - len(BODY) + 1), *range(len(WHOLE) - len(BODY), len(WHOLE), 13)]
    for cut in cuts:
        message = await answered(WHOLE[:cut], pause=False)
        failed(message, "onnection")
        assert classify_failure(message).is_retryable, (cut, message.error_message)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "closed the connection"),
        (b"HTTP/1.1 abc Huh\r\n\r\n", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", "closed the connection"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", "closed the connection"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n", "closed the connection"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (len(BODY) * 2) + BODY[:90], "closed the connection"),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (len(BODY) + 100) + BODY[:90], "closed the connection"),
        (HEAD + b"Content-Length: 90\r\n\r\n" + BODY, "onnection closed"),
        (HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"v" * 1000) for n in range(3_000)) + b"\r\n" + BODY, "onnection"),
        (HEAD + b"X-Endless: " + b"v" * 3_000_000 + b"\r\n\r\n", "onnection"),
        (b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d\0\x04\0\xa0\0\0\0\x02\0\0\0\0", "HTTP/2"),
    ],
    ids=[
        "nothing", "another protocol", "no status", "no number", "two lengths", "no header", "no chunk size",
        "a negative one", "less than a chunk", "less than the length", "more than the length", "3 MB of headers",
        "one of 3 MB", "HTTP/2 frames",
    ],
)  # fmt: skip
async def test_broken_answers_are_errors_in_words(answer: bytes, words: str):
    failed(await answered(answer, pause=False), words)


async def test_half_a_letter_at_the_end_of_a_piece():
    body = BODY.replace(b"w\\u00f6rld", "wörld".encode())
    at = body.index("ö".encode()) + 1
    assert is_whole(await answered(chunked(body[:at], body[at:])))
    message = await answered(HEAD + b"\r\n" + body[:at])
    failed(message, "onnection")


# Connections that are kept


async def test_a_kept_connection_that_the_server_has_closed_is_replaced():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(WHOLE)
        await writer.drain()

    async with wire(talk) as server:
        for _ in range(4):
            assert is_whole(await ask(model_for(API, server.url)))
        assert server.connections == 4 and len(server.requests) == 4


async def test_a_kept_connection_that_ends_with_the_next_request_is_replaced_once():
    """The server closes while the request is on its way: there was no answer, so it is sent again."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        if server.connections < 3:
            writer.write(WHOLE)
            await writer.drain()
            await server.request(reader)
            if server.connections == 2:  # a reset instead of an end
                option = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        elif len(server.requests) < 6:
            writer.write(WHOLE)
            await writer.drain()

    async with wire(talk) as server:
        for _ in range(3):
            assert is_whole(await ask(model_for(API, server.url)))
        assert (server.connections, len(server.requests)) == (3, 5)
        failed(await ask(model_for(API, server.url)), "closed the connection")


@pytest.mark.parametrize("how", ["at once", "while it rests", "while it rests, and closes"])
async def test_an_unrequested_response_is_discarded(how: str):
    """A second answer behind the first, or the farewell that some routers write to a connection that rests."""
    unasked = WHOLE.replace(b"Hello", b"Other") if how == "at once" else b"HTTP/1.1 408 Late\r\n\r\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        if server.connections > 1:
            writer.write(WHOLE)
            await writer.drain()
            return
        if how == "at once":
            writer.write(WHOLE + unasked)
        else:
            writer.write(WHOLE)
            await writer.drain()
            await answered_once.wait()
            writer.write(unasked)
        await writer.drain()
        written.set()
        if not how.endswith("closes"):
            await reader.read()

    answered_once, written = asyncio.Event(), asyncio.Event()
    async with wire(talk) as server:
        assert is_whole(await ask(model_for(API, server.url)))
        answered_once.set()
        await written.wait()
        assert is_whole(await ask(model_for(API, server.url)))
        assert server.connections == 2 and len(server.requests) == 2


async def test_half_an_answer_is_not_asked_for_again():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(WHOLE)
        await writer.drain()
        await server.request(reader)
        writer.write(WHOLE[:-200])

    async with wire(talk) as server:
        assert is_whole(await ask(model_for(API, server.url)))
        failed(await ask(model_for(API, server.url)), "closed the connection")
        assert server.connections == 1


# Large requests


@pytest.mark.parametrize("then", ["stays", "closes", "resets"])
async def test_a_large_request_that_is_refused_before_it_is_read(then: str):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        text = b'{"error":{"message":"That is more than I take."}}'
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        await writer.drain()
        if then == "stays":
            await gone.wait()
        if then == "resets":
            option = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)

    gone = asyncio.Event()
    large = context(user_message("x" * 30_000_000))
    async with wire(talk) as server, asyncio.timeout(30):
        message = await ask(model_for(API, server.url), large)
        gone.set()
    told = message.error_message or ""
    assert message.stop_reason == "error"
    assert ("413" in told and "more than I take" in told) or (then == "resets" and "Connection error" in told)


async def test_a_large_request_is_sent_completely_without_an_early_answer():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = await server.request(reader)
        assert got.count(b"x") >= 30_000_000
        writer.write(WHOLE)
        await writer.drain()

    async with wire(talk) as server:
        assert is_whole(await ask(model_for(API, server.url), context(user_message("x" * 30_000_000))))


# Encodings


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data)


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


@pytest.mark.parametrize(
    ("name", "squeeze"),
    [("gzip", gzipped), ("x-gzip", gzipped), ("deflate", zlib.compress), ("deflate", raw_deflate)],
)
async def test_compressed_answers(name: str, squeeze: Callable[[bytes], bytes]):
    body = squeeze(BODY)
    head = HEAD + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (name.encode(), len(body))
    assert is_whole(await answered(head, *(body[at : at + 5] for at in range(0, len(body), 5))))
    damaged = body[:20] + b"\xff\xff\xff" + body[23:]
    failed(await answered(head + damaged), "encoding is damaged")
    failed(
        await answered(HEAD + b"Content-Encoding: %s\r\n\r\n" % name.encode() + body[: len(body) // 2]),
        "onnection",
    )


async def test_an_encoding_that_was_not_asked_for():
    message = await answered(HEAD + b"Content-Encoding: br\r\n\r\n" + BODY)
    failed(message, "'br'", "did not request")


async def test_an_error_that_unpacks_to_a_gigabyte_is_read_no_further_than_it_is_of_use():
    squeeze = zlib.compressobj(9, wbits=31)
    body = b"".join([squeeze.compress(b" " * 2**24) for _ in range(64)]) + squeeze.flush()
    head = b"HTTP/1.1 500 Oh\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    message = await answered(head + body)
    assert (message.error_message or "").startswith("500")


# TLS


@asynccontextmanager
async def tls_wire(talk: Talk, folder: Path, *protocols: str) -> AsyncIterator[Wire]:
    process = await asyncio.create_subprocess_exec(
        "openssl", *["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
        cwd=folder, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert await process.wait() == 0
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    if protocols:
        tls.set_alpn_protocols(list(protocols))
    async with wire(talk, tls) as server:
        yield server


async def test_tls_that_stops_in_the_middle(tmp_path: Path):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(HEAD + b"\r\n" + BODY[: cuts[0]])
        await writer.drain()
        # No farewell of TLS: the line is cut below it.
        writer.get_extra_info("socket")
        writer.transport.abort()

    cuts = [0]
    async with tls_wire(talk, tmp_path) as server:
        for cut in (0, 40, 300, len(BODY) // 2):
            cuts[0] = cut
            given = options(ca_bundle=str(tmp_path / "cert.pem"))
            message = await ask(model_for(API, server.url), how=given)
            failed(message)
            assert classify_failure(message).is_retryable, message.error_message


async def test_a_server_that_speaks_http2_only(tmp_path: Path):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d\0\x04\0\xa0\0\0\0\x02\0\0\0\0")
        await writer.drain()
        await reader.read()

    async with tls_wire(talk, tmp_path, "h2") as server:
        message = await ask(model_for(API, server.url), how=options(ca_bundle=str(tmp_path / "cert.pem")))
        failed(message, "HTTP/2 only")


async def test_http_where_tls_is_expected_and_the_other_way_round(tmp_path: Path, server: Loopback):
    message = await ask(model_for(API, server.url.replace("http:", "https:")))
    failed(message, "127.0.0.1")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with tls_wire(talk, tmp_path) as encrypted:
        failed(await ask(model_for(API, encrypted.url.replace("https:", "http:"))), "127.0.0.1")
