"""Addresses: which hosts a request may go to, decided on the address that is connected to."""

from __future__ import annotations

import ipaddress
import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ...errors import UsageError

# Metadata services of clouds that don't live on a link-local address.
_METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "fd00:ec2::254")))


def vetted_url(text: str, where: str = "--target") -> URL:
    """An http(s) URL that can be asked. Parsed once, by the parser that the client itself uses."""
    if "\\" in text or not text.isprintable() or " " in text:
        raise _refused("the URL holds a backslash, a space or a control character", where, "Percent-encode it.")
    try:
        url = URL(text)
    except ValueError:
        raise _refused("the URL can't be read", where, "Write http://host:port/path.") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise _refused("only http:// and https:// URLs are asked", where, "Write http://host:port/path.")
    if url.user is not None or url.password is not None:
        raise _refused("the URL holds a user name or password", where, "Use --header 'Authorization=Basic ${NAME}'.")
    refuse_address(url.host, where)
    return url


def refuse_address(host: str, where: str) -> None:
    """Refuse a literal address that no pipeline lives on; names are looked at when they are resolved."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return
    while isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None:
            break
        address = inner
    if address.is_link_local or address.is_multicast or address in _METADATA:
        raise _refused(f"{host} is a link-local or metadata address", where, "Such addresses are never asked.")


class VettingResolver(AbstractResolver):
    """Resolve as usual, then refuse; the client connects to exactly the addresses that were looked at."""

    def __init__(self) -> None:
        self._resolver = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for result in found:
            refuse_address(result["host"], f"--target {host}")
        return found

    async def close(self) -> None:
        await self._resolver.close()


def _refused(what: str, where: str, hint: str) -> UsageError:
    return UsageError(what, where=where, hint=hint, code="target-address")
