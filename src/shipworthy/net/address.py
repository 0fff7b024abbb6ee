"""Addresses: which hosts a request may go to, decided on the address that is connected to."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ..errors import UsageError

# Metadata services of clouds that don't live on a link-local address.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "168.63.129.16",  # Azure
            "fd00:ec2::254",  # Amazon
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
        ),
    )
)
# Prefixes whose last 32 bits are an IPv4 address: NAT64 (well-known and local), translated, compatible.
_LAST_32 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96")))
_ISATAP = (0x00005EFE, 0x02005EFE)
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|[0-9a-f:.]+")
_KEPT = "/%:@!$&'()*+,;=~?-._[]"


class Url(NamedTuple):
    """An http(s) URL in the parts that a request is made of. Read once: what is vetted is what is connected to."""

    scheme: str
    host: str
    port: int
    path: str  # with the query, percent-encoded

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    def joined(self, place: str) -> Url:
        """Where a Location header leads from here."""
        return vetted_url(urljoin(f"{self.scheme}://{self.authority}{self.path}", place), "Location")

    def queried(self, query: Mapping[str, str]) -> Url:
        """The same place with more in its query."""
        more = urlencode(query, errors="surrogatepass")
        return self._replace(path=f"{self.path}{'&' if '?' in self.path else '?'}{more}")

    def same_origin(self, other: Url) -> bool:
        return self[:3] == other[:3]


def vetted_url(text: str, where: str = "--target") -> Url:
    """An http(s) URL that may be asked."""
    if "\\" in text or not text.isprintable() or " " in text:
        raise _refused("the URL holds a backslash, a space or a control character", where, "Percent-encode it.")
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("ascii" if (parts.hostname or "").isascii() else "idna").decode()
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise _refused("the URL can't be read", where, "Write http://host:port/path.") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
        raise _refused("only http:// and https:// URLs with a host are asked", where, "Write http://host:port/path.")
    if "@" in parts.netloc:
        raise _refused("the URL holds a user name or password", where, "Use --header 'Authorization=Basic ${NAME}'.")
    refuse_address(host, where)
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_KEPT)
    return Url(parts.scheme, host, port, path)


def refuse_address(host: str, where: str) -> None:
    """Refuse a literal address that no pipeline lives on; names are looked at when they are resolved."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        if host.replace(".", "").isdigit():  # 2852039166 and 127.1 are addresses in disguise
            raise _refused(f"{host} is not a plain address", where, "Write it as 127.0.0.1.") from None
        return
    if any(each.is_link_local or each.is_multicast or each in _METADATA for each in (address, *_within(address))):
        raise _refused(f"{host} is a link-local or metadata address", where, "Such addresses are never asked.")


def _within(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for, in any of the ways in which one can be written into it."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    number = int(address)
    if any(address in prefix for prefix in _LAST_32) or number >> 32 & 0xFFFFFFFF in _ISATAP:
        inner.append(ipaddress.IPv4Address(number & 0xFFFFFFFF))
    if address in _LAST_32[1]:  # RFC 6052: after a prefix of 48 bits the address goes around bits 64 to 71
        inner.append(ipaddress.IPv4Address((number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF))
    return [each for each in inner if each is not None]


async def resolved(url: Url) -> list[str]:
    """The addresses of a host, each of them looked at; one that must not be asked refuses them all."""
    infos = await asyncio.get_running_loop().getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
    for address in addresses:
        refuse_address(address, url.host)
    return addresses


def _refused(what: str, where: str, hint: str) -> UsageError:
    return UsageError(what, where=where, hint=hint, code="target-address")
