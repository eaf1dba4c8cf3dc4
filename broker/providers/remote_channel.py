"""How a remote source is reached: TLS from files, or plaintext to this machine only."""

from __future__ import annotations

import os
from typing import Annotated

import grpc
import grpc.aio
from pydantic import AfterValidator, model_validator

from broker.config import (
    InputFile,
    MissingSecret,
    PositiveInt,
    PositiveMilliseconds,
    ProviderSettings,
    Secret,
    Strict,
)
from broker.config.addresses import is_loopback, split_address
from broker.providers.making import SetupError


class TlsSettings(Strict):
    """Without ``ca_file``: the system's authorities. ``cert_file``, ``key_file``: the broker's own (mTLS)."""

    ca_file: InputFile | None = None
    cert_file: InputFile | None = None
    key_file: InputFile | None = None
    server_name: str = ""  # expected in the certificate, where it is not the address's host

    @model_validator(mode="after")
    def _pair(self) -> TlsSettings:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together")
        return self


def _reachable(address: str) -> str:
    split_address(address)
    return address


class RemoteSettings(ProviderSettings):
    """``address`` is host:port; without ``tls`` it must be on this machine. ``token`` is a bearer token.

    Price, timeout and concurrency that stand here win over what the source declares.
    """

    address: Annotated[str, AfterValidator(_reachable)]
    tls: TlsSettings | None = None
    token: Secret | None = None
    layout_id: str = ""  # refused unless the source declares the same; empty: not checked
    max_message_bytes: PositiveInt = 4_194_304
    describe_timeout_ms: PositiveMilliseconds = 2_000
    retry_describe_ms: PositiveMilliseconds = 1_000

    @model_validator(mode="after")
    def _private(self) -> RemoteSettings:
        if self.tls is None and not is_loopback(self.address):
            raise ValueError("tls is required: the address can be another machine's")
        return self


def open_channel(settings: RemoteSettings) -> grpc.aio.Channel:
    options = [
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
    ]
    if settings.tls is None:
        return grpc.aio.insecure_channel(settings.address, options)
    if settings.tls.server_name:
        options.append(("grpc.ssl_target_name_override", settings.tls.server_name))  # type: ignore[arg-type]
    return grpc.aio.secure_channel(settings.address, _credentials(settings.tls), options)


def call_metadata(settings: RemoteSettings) -> tuple[tuple[str, str], ...]:
    """Sent with every call. Raises :class:`SetupError` when the token's variable is not set."""
    if settings.token is None:
        return ()
    try:
        return (("authorization", f"Bearer {settings.token.resolve(os.environ)}"),)
    except MissingSecret as error:
        raise SetupError("token", str(error)) from None


def _credentials(tls: TlsSettings) -> grpc.ChannelCredentials:
    files = (tls.ca_file, tls.key_file, tls.cert_file)
    ca, key, certificate = (file.read_bytes() if file else None for file in files)
    return grpc.ssl_channel_credentials(ca, key, certificate)
