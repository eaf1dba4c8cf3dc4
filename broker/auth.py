"""Who calls: bearer tokens, each mapped to a tenant and to roles. Only digests of tokens are kept."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from broker.config.model import DEFAULT_TENANT, Config
from broker.errors import PermissionRefused, Unauthenticated

_SCHEME = "bearer "


class Role(StrEnum):
    AGENT = "agent"
    ADMIN = "admin"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows. ``name`` is the token's name in the configuration, fit for logs; ``digest`` tells
    a rotated token from the one before."""

    tenant: str
    name: str
    roles: frozenset[Role]
    digest: bytes = field(default=b"", repr=False)


EVERYONE = Grant(DEFAULT_TENANT, "everyone", frozenset(Role))
"""Who calls while auth is off."""


class Authenticator:
    """Checks the ``authorization`` value of a call or a request. One instance serves gRPC and HTTP alike."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        """``config`` has been loaded, so that auth is on wherever it must be and every secret is there."""
        self.reload(config, environ)

    def reload(self, config: Config, environ: Mapping[str, str]) -> None:
        """Take over new tokens; afterwards :meth:`holds` says which open sessions may stay."""
        self.enabled = config.auth_enabled
        self._grants = [
            Grant(t.tenant, t.name, frozenset(map(Role, t.roles)), _digest(t.token.resolve(environ)))
            for t in (config.auth.tokens if self.enabled else ())
        ]

    def identify(self, authorization: str | None) -> Grant:
        """Raises :class:`broker.errors.Unauthenticated`, the same for a wrong and a missing token."""
        if not self.enabled:
            return EVERYONE
        value = authorization or ""
        token = value[len(_SCHEME) :].strip() if value[: len(_SCHEME)].lower() == _SCHEME else ""
        given = _digest(token)
        found: Grant | None = None
        for grant in self._grants:  # all of them, so that the time taken does not tell which one
            if hmac.compare_digest(grant.digest, given):
                found = grant
        if found is None or not token:
            raise Unauthenticated("a valid bearer token is required")
        return found

    def holds(self, grant: Grant) -> bool:
        """Whether a grant given earlier is still given to someone, unchanged."""
        return grant == EVERYONE if not self.enabled else grant in self._grants


def require(grant: Grant, roles: frozenset[Role]) -> None:
    """Raises :class:`broker.errors.PermissionRefused` unless the grant has one of the roles."""
    if not grant.roles & roles:
        raise PermissionRefused(f"this needs the role {' or '.join(sorted(roles))}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
