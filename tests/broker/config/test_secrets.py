"""An empty key is no open door, and no secret stands in a file."""

import pytest

from tests.broker.config.test_config import MINIMAL, problems, read

TOKENS = """
[tenants.acme]
[[auth.tokens]]
name = "agents"
token = "env:AGENT_TOKEN"
tenant = "acme"
roles = ["agent"]
"""
KEYED = """
[[providers]]
id = "paid"
kind = "keyed"
key = "env:PAID_KEY"
"""


@pytest.mark.parametrize("environ", [{}, {"AGENT_TOKEN": ""}, {"AGENT_TOKEN": " \t"}])
def test_an_unset_empty_or_blank_token_stops_the_start_and_names_its_variable(environ):
    assert len(problems(MINIMAL + TOKENS, environ)) == 1
    assert "environment variable AGENT_TOKEN is " in problems(MINIMAL + TOKENS, environ)[0]


def test_a_secret_written_into_the_file_is_refused_and_not_repeated():
    text = MINIMAL + TOKENS.replace("env:AGENT_TOKEN", "hunter2-hunter2")
    assert "env:NAME" in problems(text)[0]
    assert "hunter2" not in " ".join(problems(text))


def test_a_loaded_configuration_holds_no_secret():
    config = read(MINIMAL + TOKENS, {"AGENT_TOKEN": "SENTINEL"})
    assert "SENTINEL" not in repr(config)


@pytest.mark.parametrize("environ", [{}, {"PAID_KEY": ""}, {"PAID_KEY": "  "}])
def test_a_source_without_its_key_is_told_and_stops_nobody_else(environ):
    config = read(MINIMAL + KEYED, environ)
    assert "PAID_KEY" in config.provider("paid").missing_secret(environ)
    assert config.provider("rule").missing_secret(environ) is None


def test_a_source_with_its_key_misses_nothing():
    environ = {"PAID_KEY": "k"}
    assert read(MINIMAL + KEYED, environ).provider("paid").missing_secret(environ) is None


@pytest.mark.parametrize(
    "address", ["0.0.0.0:50051", "[::]:50051", "192.168.1.5:50051", "broker.example:50051"]
)
@pytest.mark.parametrize("key", ["address", "admin_address"])
def test_auth_cannot_be_off_where_others_can_reach_it(address, key):
    text = MINIMAL + f'[server]\n{key} = "{address}"\n[auth]\nenabled = false'
    assert any(problem.startswith("broker.toml: auth.enabled: cannot be off") for problem in problems(text))


def test_auth_that_is_not_mentioned_is_on_where_others_can_reach_it():
    text = MINIMAL + '[server]\naddress = "0.0.0.0:50051"'
    assert any(problem.startswith("broker.toml: auth.tokens: is required") for problem in problems(text))


@pytest.mark.parametrize("address", ["127.0.0.1:0", "127.8.8.8:1", "[::1]:50051", "localhost:50051"])
def test_auth_may_be_off_on_loopback(address):
    assert not read(MINIMAL + f'[server]\naddress = "{address}"\n[auth]\nenabled = false').auth_enabled


def test_auth_is_on_as_soon_as_somebody_has_a_token():
    assert read(MINIMAL + TOKENS, {"AGENT_TOKEN": "t"}).auth_enabled


def test_two_tokens_with_the_same_secret_are_refused():
    second = TOKENS.replace("[tenants.acme]", "").replace('"agents"', '"others"').replace("AGENT", "OTHER")
    told = problems(MINIMAL + TOKENS + second, {"AGENT_TOKEN": "same", "OTHER_TOKEN": "same"})
    assert told == [
        "broker.toml: auth.tokens[1].token: OTHER_TOKEN holds the same secret as AGENT_TOKEN",
    ]


def test_a_token_of_an_unknown_tenant_is_refused():
    text = MINIMAL + TOKENS.replace('tenant = "acme"', 'tenant = "acne"')
    assert problems(text, {"AGENT_TOKEN": "t"})[0].endswith("(nearest valid key: acme)")
