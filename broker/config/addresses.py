"""Addresses to listen on: ``host:port``, ``[v6]:port``."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator


def split_address(address: str) -> tuple[str, int]:
    """Host and port. Raises ValueError in words an operator can use."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host:
        raise ValueError('an address is "host:port"; to listen everywhere write 0.0.0.0')
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError("a port is a number from 0 to 65535")
    return host, int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach it. A name other than localhost is taken to be reachable."""
    host = split_address(address)[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _valid(address: str) -> str:
    split_address(address)
    return address


Address = Annotated[str, AfterValidator(_valid)]
