"""The client: bodies however they are framed, framed wrongly or cut off, connections kept and let go, TLS, time."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from shipworthy.net.address import vetted_url
from shipworthy.net.client import Client, Reply, RequestFailed
from waiting import FOREVER

HEAD = b"HTTP/1.1 200 OK\r\n"


async def served(
    left: list[bytes], ask: Callable[[Client], Awaitable[Any]], tls: ssl.SSLContext | None = None
) -> tuple[Any, int]:
    """Answer each request with the first of `left`, b"" closes; what `ask` gave, and how many connections it took."""
    connections = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
                answer = left.pop(0)
                writer.write(answer.removesuffix(b"<close>"))
                await writer.drain()
                if not answer or answer.endswith(b"<close>"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    client = Client(vetted_url(f"{'https' if tls else 'http'}://127.0.0.1:{port}/qa"), {"X-A": "ü"})
    try:
        async with asyncio.timeout(FOREVER):
            return await ask(client), connections
    finally:
        await client.close()
        server.close()


async def post(client: Client, limit: int) -> Reply:
    return await client.send("POST", client.url, b"{}", {}, limit)


def posted(*answers: bytes, limit: int = 1000) -> tuple[Reply, int]:
    """The last of so many requests, one after the other."""

    async def ask(client: Client) -> Reply:
        for _ in answers:
            reply = await post(client, limit)
        return reply

    return asyncio.run(served(list(answers), ask))


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 5\r\n\r\nhello",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
        HEAD + b"\r\nhello<close>",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello<close>",
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_bodies_however_they_are_framed(answer: bytes) -> None:
    reply, _ = posted(answer)
    assert (reply.status, reply.body, reply.whole) == (200, b"hello", True)


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        HEAD + b"content-length:5\r\nContent-Length: 5\r\n\r\nhello",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        HEAD + b"Content-Length: -5\r\n\r\nhello",
        HEAD + b"Content-Length: 5 5\r\n\r\nhello",
        HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: x\r\n" * 200 + b"\r\n",
        HEAD + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=lambda answer: answer[:60].decode(),
)
def test_what_is_not_http_is_said_to_be_so(answer: bytes) -> None:
    with pytest.raises(RequestFailed, match="bad-http"):
        posted(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        HEAD + b"<close>",
        HEAD + b"Content-Length: 9\r\n\r\nhello<close>",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello<close>",
    ],
)
def test_connections_that_end_too_early(answer: bytes) -> None:
    with pytest.raises(RequestFailed, match="reset") as caught:
        posted(answer)
    assert caught.value.retry


@pytest.mark.parametrize(
    "framed",
    [
        b"Content-Length: 5000\r\n\r\n" + b"x" * 5000,
        b"\r\n" + b"x" * 5000 + b"<close>",
        b"Transfer-Encoding: chunked\r\n\r\n1388\r\n" + b"x" * 5000 + b"\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n"
        + b"1f4\r\n"
        + b"x" * 500
        + b"\r\n1f5\r\n"
        + b"x" * 501
        + b"\r\n0\r\n\r\n",
    ],
)
def test_bodies_are_cut_at_the_limit(framed: bytes) -> None:
    reply, _ = posted(HEAD + framed)
    assert not reply.whole and 0 < len(reply.body) <= 1000
    assert set(reply.body) == {ord("x")}


def test_connections_are_kept_and_let_go() -> None:
    good = HEAD + b"Content-Length: 2\r\n\r\nok"
    assert posted(good, good, good)[1] == 1
    assert posted(good + b"<close>", good, good)[1] == 2
    assert posted(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok", good)[1] == 2
    assert posted(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", good)[1] == 2
    assert posted(HEAD + b"Content-Length: 5000000\r\n\r\n" + b"x" * 5_000_000, good)[1] == 2
    assert posted(b"HTTP/1.1 204 No Content\r\n\r\n", good)[1] == 1


def test_a_cancelled_request_leaves_no_connection_to_the_next() -> None:
    """Otherwise the next question would be given the late answer of the one before."""

    half = HEAD + b"Content-Length: 9\r\n\r\nlate"
    answers = [half, HEAD + b"Content-Length: 2\r\n\r\nok"]

    async def ask(client: Client) -> bytes:
        first = asyncio.create_task(post(client, 100))
        while len(answers) == 2:  # until the server is about to send the half
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return (await post(client, 100)).body

    body, connections = asyncio.run(served(answers, ask))
    assert (body, connections) == (b"ok", 2)


GOOD = HEAD + b"Content-Length: 2\r\n\r\nok"
FORGED = HEAD + b"Content-Length: 6\r\n\r\nforged"


def test_bytes_behind_an_answer_are_not_the_next_one() -> None:
    """They come with the answer, in one piece."""
    reply, connections = posted(GOOD + FORGED, GOOD)
    assert (reply.body, connections) == (b"ok", 2)


@pytest.mark.parametrize("read", [False, True], ids=["still in the socket", "read already"])
def test_bytes_on_an_idle_connection_are_not_the_next_answer(read: bool) -> None:
    """They come later, while nobody asks: read by the loop already, or still waiting in the socket."""
    accepted: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await reader.readuntil(b"{}")
        writer.write(GOOD)
        await reader.read()
        writer.close()

    async def ask() -> list[bytes]:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        client = Client(vetted_url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/qa"), {})
        try:
            first = await post(client, 100)
            os.write(accepted[0].get_extra_info("socket").fileno(), FORGED)
            if read:
                await asyncio.sleep(0.05)
            return [first.body, (await post(client, 100)).body]
        finally:
            await client.close()
            server.close()

    assert asyncio.run(ask()) == [b"ok", b"ok"]
    assert len(accepted) == 2


def test_tls_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("there is no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def ask(client: Client) -> bytes:
        return (await post(client, 100)).body

    good = HEAD + b"Content-Length: 2\r\n\r\nok"
    with pytest.raises(RequestFailed, match=r"unreachable: .*certificate verify failed"):
        asyncio.run(served([good], ask, context))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(served([good], ask, context))[0] == b"ok"


@pytest.mark.parametrize(
    ("text", "authority", "path"),
    [
        ("http://a.test", "a.test", "/"),
        ("https://A.test:443/q?x=1&y=ü#frag", "a.test", "/q?x=1&y=%C3%BC"),
        ("http://[::1]:8080/a%20b", "[::1]:8080", "/a%20b"),
        ("http://bücher.test/", "xn--bcher-kva.test", "/"),
        ("http://my_service:80/", "my_service", "/"),
    ],
)
def test_urls_in_parts(text: str, authority: str, path: str) -> None:
    url = vetted_url(text)
    assert (url.authority, url.path) == (authority, path)
