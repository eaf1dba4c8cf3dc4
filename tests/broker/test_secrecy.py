"""No secret, observation or internal text leaves the broker: not in errors, logs or metrics."""

import base64

import grpc
import numpy as np
import pytest

from protos.types import AskOptions, Goal
from tests.broker.live import Caller, running

KEY, TOKEN, RAISED, GOAL, WRONG = (
    f"SENTINEL{name}f00dcafe" for name in ("Key", "Token", "Raised", "Goal", "Wrong")
)

TEXT = """
[log]
level = "debug"

[tenants.acme]
[[auth.tokens]]
name = "agents"
token = "env:AGENT"
tenant = "acme"
roles = ["agent", "metrics", "admin"]

[[providers]]
id = "raising"
kind = "simulated"
wraps = "rule"

[[providers]]
id = "rule"
kind = "rules"
rule = "tests.broker.test_secrecy:raising_rule"

[tasks.hopper]
folder = "{folder}"
route = {{ strategy = "fixed", providers = ["raising"] }}
"""


def raising_rule(observations):
    raise RuntimeError(f"could not reach https://user:{RAISED}@host/?key={KEY}")


def forms(secret: str) -> list[str]:
    return [secret, secret[:12], base64.b64encode(secret.encode()).decode().rstrip("=")]


async def failure_of(call) -> str:
    """Everything that a client can see of a failed call."""
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call
    error = failed.value
    return f"{error.code()} {error.details()} {error.debug_error_string()} {list(error.trailing_metadata())}"


async def test_no_sentinel_is_in_any_status_log_or_metric(tmp_path, pytestconfig):
    folder = pytestconfig.rootpath / "deploy" / "tasks" / "PerturbedHopper"
    environ = {"AGENT": TOKEN}
    async with running(TEXT.format(folder=folder), tmp_path, environ) as at:
        stranger, agent = Caller(at.channel, WRONG), Caller(at.channel, TOKEN)
        asked = AskOptions(final_by_ms=5000, goal=Goal("g", GOAL))
        seen = [
            await failure_of(stranger.ask("hopper")),
            await failure_of(Caller(at.channel).ask("hopper")),
            await failure_of(agent.ask("hopper", np.zeros(11), asked, agent=GOAL)),
            await failure_of(agent.ask(GOAL, options=asked)),
            (await at.page("/metrics", TOKEN)).text,
            (await at.page("/metrics", WRONG)).text,
            at.log.getvalue(),
        ]
    assert 'guidance_attempts_total{outcome="provider_fault",provider="raising"} ' in seen[4]
    for secret in (KEY, TOKEN, RAISED, GOAL, WRONG):
        for form in forms(secret):
            assert not [text for text in seen if form in text], form
    assert seen[0].split(" <")[0] == seen[1].split(" <")[0]


async def test_wrong_and_missing_tokens_read_the_same(tmp_path):
    text = TEXT.split("[[providers]]")[0] + '[[providers]]\nid = "r"\nkind = "simulated"\nanswer = [0.0]'
    async with running(text, tmp_path, {"AGENT": TOKEN}) as at:
        told = set()
        for token in (WRONG, "", TOKEN[:-1], TOKEN.lower()):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await Caller(at.channel, token).ask("hopper")
            metadata = tuple(refused.value.trailing_metadata())
            told.add((refused.value.code(), refused.value.details(), metadata))
        assert len(told) == 1
