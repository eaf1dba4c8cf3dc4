"""Who may call what."""

import asyncio
import contextlib
import hmac

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from broker.auth import EVERYONE, Authenticator, Role, require
from broker.config import Config, parse
from broker.errors import PermissionRefused, Unauthenticated
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from broker.wire.auth_interceptor import AuthInterceptor, caller

ENVIRON = {"AGENT": "agent-secret", "ADMIN": "admin-secret", "METRICS": "metrics-secret"}
RULE = '[[providers]]\nid = "rule"\nkind = "rules"\n'


def configured(*roles: str, environ: dict[str, str] = ENVIRON) -> Config:
    text = RULE + "[tenants.acme]\n"
    for role in roles:
        text += (
            f'[[auth.tokens]]\nname = "{role}s"\ntoken = "env:{role.upper()}"\n'
            f'tenant = "acme"\nroles = ["{role}"]\n'
        )
    return parse(text, PROVIDER_SETTINGS, ROUTE_SETTINGS, environ)


@pytest.fixture
def authenticator() -> Authenticator:
    return Authenticator(configured("agent", "admin"), ENVIRON)


def test_a_token_says_who_calls(authenticator):
    grant = authenticator.identify("Bearer agent-secret")
    assert (grant.tenant, grant.name, grant.roles) == ("acme", "agents", {Role.AGENT})
    assert authenticator.identify("bearer agent-secret") == grant


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer  \t",
        "agent-secret",
        "Basic agent-secret",
        "Bearer agent-secre",
        "Bearer agent-secret2",
        "Bearer AGENT-SECRET",
        "Bearer ünïcode",
    ],
)
def test_missing_empty_and_wrong_tokens_are_refused_in_the_same_words(authenticator, value):
    with pytest.raises(Unauthenticated) as refused:
        authenticator.identify(value)
    assert str(refused.value) == "a valid bearer token is required"
    assert refused.value.reason_or_default == "UNAUTHENTICATED"


@pytest.mark.parametrize("token", ["agent-secret", "admin-secret", "wrong", ""])
def test_every_token_is_compared_whichever_fits(authenticator, token, monkeypatch):
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(len(a)) or real(a, b))
    with contextlib.suppress(Unauthenticated):
        authenticator.identify(f"Bearer {token}")
    assert compared == [32, 32]  # digests: their length tells nothing either


def test_the_authenticator_keeps_no_secret(authenticator):
    kept = repr(vars(authenticator))
    assert "agent-secret" not in kept
    assert "admin-secret" not in kept


def test_a_revoked_token_no_longer_holds_and_the_others_do(authenticator):
    agents = authenticator.identify("Bearer agent-secret")
    admins = authenticator.identify("Bearer admin-secret")
    authenticator.reload(configured("admin"), ENVIRON)
    assert not authenticator.holds(agents)
    assert authenticator.holds(admins)
    with pytest.raises(Unauthenticated):
        authenticator.identify("Bearer agent-secret")


def test_a_rotated_secret_ends_what_the_old_one_opened(authenticator):
    agents = authenticator.identify("Bearer agent-secret")
    rotated = ENVIRON | {"AGENT": "new-secret"}
    authenticator.reload(configured("agent", "admin", environ=rotated), rotated)
    with pytest.raises(Unauthenticated):
        authenticator.identify("Bearer agent-secret")
    assert not authenticator.holds(agents)
    assert authenticator.holds(authenticator.identify("Bearer new-secret"))


def test_while_auth_is_off_everyone_is_one_caller_and_turning_it_on_ends_that():
    authenticator = Authenticator(configured(), {})
    assert authenticator.identify(None) == EVERYONE
    assert authenticator.holds(EVERYONE)
    authenticator.reload(configured("agent"), ENVIRON)
    assert not authenticator.holds(EVERYONE)


def test_a_role_that_is_not_enough_is_told(authenticator):
    with pytest.raises(PermissionRefused, match="admin"):
        require(authenticator.identify("Bearer agent-secret"), frozenset({Role.ADMIN}))


# ---------------------------------------------------------------- over gRPC

ARITIES = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


async def _one(request, context):
    return caller().tenant.encode()


async def _many(request, context):
    yield caller().tenant.encode()


def _service(name: str) -> grpc.GenericRpcHandler:
    make = {arity: getattr(grpc, f"{arity}_rpc_method_handler") for arity in ARITIES}
    behaviours = {arity: _many if arity.endswith("stream") else _one for arity in ARITIES}
    return grpc.method_handlers_generic_handler(name, {a: make[a](behaviours[a]) for a in ARITIES})


async def _abort(context, error):
    await context.abort(error.code, str(error))


class Server:
    """Every arity under every service name, behind the interceptor."""

    def __init__(self, authenticator: Authenticator) -> None:
        self.refused: list[tuple[str, str]] = []
        interceptor = AuthInterceptor(
            authenticator, _abort, lambda method, error: self.refused.append((method, error.code.name))
        )
        self._server = grpc.aio.server(interceptors=[interceptor])
        names = ("guidance.v1.GuidanceService", "guidance.v1.AdminService", "other.Service")
        self._server.add_generic_rpc_handlers([_service(name) for name in names])
        health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), self._server)
        self._port = self._server.add_insecure_port("127.0.0.1:0")

    async def __aenter__(self) -> "Server":
        await self._server.start()
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{self._port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()
        await self._server.stop(None)

    async def call(self, service: str, arity: str, token: str | None) -> str:
        """The tenant that the handler saw, or the status's name and text."""
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        call = getattr(self.channel, arity)(f"/{service}/{arity}")(
            iter([b""]) if arity.startswith("stream") else b"", metadata=metadata, timeout=5
        )
        try:
            if not arity.endswith("stream"):
                return (await call).decode()
            return "".join([message.decode() async for message in call])
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"


REFUSED = "UNAUTHENTICATED: a valid bearer token is required"


@pytest.mark.parametrize("arity", ARITIES)
async def test_every_arity_is_closed_to_strangers_and_open_to_tokens(authenticator, arity):
    async with Server(authenticator) as server:
        for token in (None, "", "wrong"):
            assert await server.call("guidance.v1.GuidanceService", arity, token) == REFUSED
        assert await server.call("guidance.v1.GuidanceService", arity, "agent-secret") == "acme"
        assert server.refused == [(f"/guidance.v1.GuidanceService/{arity}", "UNAUTHENTICATED")] * 3


@pytest.mark.parametrize("arity", ARITIES)
async def test_admin_calls_need_the_role_admin_and_asks_the_role_agent(authenticator, arity):
    async with Server(authenticator) as server:
        told = await server.call("guidance.v1.AdminService", arity, "agent-secret")
        assert told == "PERMISSION_DENIED: this needs the role admin"
        assert await server.call("guidance.v1.AdminService", arity, "admin-secret") == "acme"
        told = await server.call("guidance.v1.GuidanceService", arity, "admin-secret")
        assert told == "PERMISSION_DENIED: this needs the role agent"


async def test_any_other_service_but_health_needs_a_token(authenticator):
    async with Server(authenticator) as server:
        assert await server.call("other.Service", "unary_unary", None) == REFUSED
        assert await server.call("other.Service", "unary_unary", "agent-secret") == "acme"
        stub = health_pb2_grpc.HealthStub(server.channel)
        response = await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
        assert response.status == health_pb2.HealthCheckResponse.SERVING


async def test_callers_at_the_same_time_are_not_taken_for_each_other():
    environ = {"AGENT": "a", "OTHER": "b"}
    text = RULE + "".join(
        f'[tenants.{tenant}]\n[[auth.tokens]]\nname = "{tenant}"\ntoken = "env:{variable}"\n'
        f'tenant = "{tenant}"\nroles = ["agent"]\n'
        for tenant, variable in (("acme", "AGENT"), ("other", "OTHER"))
    )
    authenticator = Authenticator(parse(text, PROVIDER_SETTINGS, ROUTE_SETTINGS, environ), environ)
    async with Server(authenticator) as server:
        calls = [server.call("guidance.v1.GuidanceService", "unary_unary", t) for t in "abababab"]
        assert await asyncio.gather(*calls) == ["acme", "other"] * 4
