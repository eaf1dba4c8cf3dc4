"""The admin port, spoken to over a real socket."""

import asyncio
from http import HTTPStatus

import httpx
import pytest

from broker.auth import Authenticator
from broker.config import parse
from broker.metrics import Metrics
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS
from broker.wire.admin_http import MAX_HEAD_BYTES, AdminPages, AdminServer, Request, parse_head
from tests.broker.test_auth import ENVIRON, configured

OPEN = Authenticator(configured(), {})
CLOSED = Authenticator(configured("agent", "admin", "metrics"), ENVIRON)


class Admin:
    def __init__(self, authenticator: Authenticator = OPEN, **limits: float) -> None:
        self.ready = True
        pages = AdminPages(authenticator, Metrics().exposition, lambda: self.ready)
        self.server = AdminServer(pages, **limits)

    async def __aenter__(self) -> "Admin":
        self.port = await self.server.start("127.0.0.1:0")
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", trust_env=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()
        await self.server.close()

    async def say(self, raw: bytes) -> bytes:
        """Everything that comes back before the connection is closed."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        try:
            return await asyncio.wait_for(reader.read(), 10)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


async def test_liveness_readiness_and_metrics_are_served():
    async with Admin() as admin:
        assert (await admin.http.get("/livez")).status_code == 200
        assert (await admin.http.get("/readyz")).status_code == 200
        metrics = await admin.http.get("/metrics")
        assert metrics.status_code == 200
        assert metrics.headers["content-type"].startswith("text/plain; version=")
        assert "guidance_asks_in_flight 0.0" in metrics.text


async def test_not_ready_is_503_and_still_alive():
    async with Admin() as admin:
        admin.ready = False
        assert (await admin.http.get("/readyz")).status_code == 503
        assert (await admin.http.get("/livez")).status_code == 200


async def test_metrics_need_a_token_with_the_right_role_and_health_needs_none():
    async with Admin(CLOSED) as admin:
        for value in (None, "", "Bearer", "Bearer wrong", "Basic metrics-secret"):
            headers = {} if value is None else {"authorization": value}
            refused = await admin.http.get("/metrics", headers=headers)
            assert (refused.status_code, refused.text) == (401, "a valid bearer token is required\n")
            assert refused.headers["www-authenticate"] == "Bearer"
        for token, status in (("metrics-secret", 200), ("admin-secret", 200), ("agent-secret", 403)):
            headers = {"authorization": f"Bearer {token}"}
            assert (await admin.http.get("/metrics", headers=headers)).status_code == status
        assert (await admin.http.get("/livez")).status_code == 200
        assert (await admin.http.get("/readyz")).status_code == 200


async def test_other_paths_and_methods_are_refused():
    async with Admin() as admin:
        assert (await admin.http.get("/")).status_code == 404
        assert (await admin.http.get("/metrics/../secret")).status_code == 404
        posted = await admin.http.post("/livez", content=b"x")
        assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")
        head = await admin.http.head("/metrics")
        assert (head.status_code, head.content) == (200, b"")
        assert int(head.headers["content-length"]) > 100


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET livez HTTP/1.1\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400),
        (b"\x00\xff\xfe\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
        (b"GET /livez?x=1 HTTP/1.0\r\n\r\n", 200),
    ],
)
async def test_what_is_no_request_is_refused_and_the_server_lives_on(raw, status):
    async with Admin() as admin:
        assert (await admin.say(raw)).startswith(f"HTTP/1.1 {status} ".encode())
        assert (await admin.http.get("/livez")).status_code == 200


async def test_a_connection_that_says_nothing_is_let_go():
    async with Admin(read_timeout_s=0.05) as admin:
        assert (await admin.say(b"GET /livez HT")).startswith(b"HTTP/1.1 408 ")


async def test_silent_connections_do_not_keep_others_out_for_ever():
    async with Admin(max_connections=3, read_timeout_s=0.3) as admin:
        silent = [await asyncio.open_connection("127.0.0.1", admin.port) for _ in range(3)]
        assert (await admin.http.get("/livez")).status_code == 503
        for reader, writer in silent:
            await reader.read()  # told that it took too long
            writer.close()
        assert (await admin.http.get("/livez")).status_code == 200


async def test_closing_drops_silent_connections_without_a_word():
    async with Admin() as admin:
        reader, writer = await asyncio.open_connection("127.0.0.1", admin.port)
        await admin.http.get("/livez")
    assert await reader.read() == b""
    writer.close()


async def test_a_taken_port_is_an_error():
    async with Admin() as admin:
        with pytest.raises(OSError, match="address already in use"):
            await Admin().server.start(f"127.0.0.1:{admin.port}")


def test_a_head_is_parsed():
    head = b"GET /metrics?x=1 HTTP/1.1\r\nHost: h\r\nAuthorization:  Bearer t \r\n\r\n"
    assert parse_head(head) == Request("GET", "/metrics", "Bearer t")


def test_pages_are_pure():
    pages = AdminPages(CLOSED, lambda: b"figures", lambda: True)
    assert pages.respond(Request("GET", "/metrics", "Bearer metrics-secret")).body == b"figures"
    assert pages.respond(Request("GET", "/metrics")).status is HTTPStatus.UNAUTHORIZED


def test_a_configuration_with_auth_on_asks_for_it_here_too():
    config = parse(
        '[server]\nadmin_address = "0.0.0.0:9464"\n[tenants.a]\n[[auth.tokens]]\nname = "m"\n'
        'token = "env:METRICS"\ntenant = "a"\nroles = ["metrics"]\n[[providers]]\nid = "r"\nkind = "rules"',
        PROVIDER_SETTINGS,
        ROUTE_SETTINGS,
        ENVIRON,
    )
    pages = AdminPages(Authenticator(config, ENVIRON), lambda: b"figures", lambda: True)
    assert pages.respond(Request("GET", "/metrics")).status is HTTPStatus.UNAUTHORIZED
