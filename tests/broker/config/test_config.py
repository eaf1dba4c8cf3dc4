"""What a configuration file may say, and what is said about one that may not be."""

from pathlib import Path
from typing import Literal

import pytest

from broker.config import Config, ConfigError, ProviderSettings, Secret, load, parse
from broker.providers.registry import PROVIDER_SETTINGS
from broker.routing.registry import ROUTE_SETTINGS

MINIMAL = """
[[providers]]
id = "rule"
kind = "rules"
"""


class KeyedSettings(ProviderSettings):
    kind: Literal["keyed"]
    key: Secret
    wraps: str = ""

    def references(self) -> tuple[str, ...]:
        return (self.wraps,) if self.wraps else ()


KINDS = {**PROVIDER_SETTINGS, "keyed": KeyedSettings}


def read(text: str, environ: dict[str, str] | None = None, folder: Path | None = None) -> Config:
    return parse(text, KINDS, ROUTE_SETTINGS, environ or {}, file="broker.toml", folder=folder)


def problems(text: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        read(text, environ)
    return [str(problem) for problem in refused.value.problems]


def test_a_minimal_file_gets_every_default():
    config = read(MINIMAL)
    assert config.server.address == "127.0.0.1:50051"
    assert config.clocks.first_answer_cap_ms == 5000
    assert config.limits.max_attempts == 3
    assert not config.auth_enabled


def test_each_kind_brings_its_own_keys_and_a_foreign_one_is_unknown():
    config = read(MINIMAL + 'rule = "hopper"')
    assert config.provider("rule").rule == "hopper"
    assert problems(MINIMAL + "seed = 3")[0].startswith("broker.toml: providers[0].seed: unknown key")


MISTAKES = [
    # what stands in the file, the path that is named, the nearest valid key that is named
    ("enfore_safety = true\n" + MINIMAL, "enfore_safety", None),
    ('safety = "false"\n' + MINIMAL, "safety", None),
    (MINIMAL + "timeout = 800", "providers[0].timeout", "timeout_ms"),
    (MINIMAL + "timeout_s = 800", "providers[0].timeout_s", "timeout_ms"),
    (MINIMAL + 'hedge_delay_ms = "100"', "providers[0].hedge_delay_ms", "timeout_ms"),
    (MINIMAL + 'timeout_ms = "100"', "providers[0].timeout_ms", None),
    (MINIMAL + "timeout_ms = 0", "providers[0].timeout_ms", None),
    (MINIMAL + 'cache = "false"', "providers[0].cache", None),
    (MINIMAL + "price = { usd_per_asks = 1.0 }", "providers[0].price.usd_per_asks", "usd_per_ask"),
    (MINIMAL + "price = { usd_per_ask = -1.0 }", "providers[0].price.usd_per_ask", None),
    (MINIMAL + "price = { usd_per_ask = inf }", "providers[0].price.usd_per_ask", None),
    (MINIMAL + "price = { usd_per_ask = 1e300 }", "providers[0].price.usd_per_ask", None),
    (MINIMAL + "timeout_ms = 99999999999999999999", "providers[0].timeout_ms", None),
    (MINIMAL + "[tenants.a]\nbudget_usd = 1e12", "tenants.a.budget_usd", None),
    (MINIMAL + "[server]\nmax_message_bytes = 100000000000", "server.max_message_bytes", None),
    (MINIMAL + f'[tasks.t]\nfolder = "{"x" * 5000}"\nroute = 1', "tasks.t.folder", None),
    (MINIMAL + MINIMAL, "providers[1].id", None),
    (MINIMAL.replace("rules", "rule"), "providers[0].kind", "rules"),
    (MINIMAL + "[tenants.a]\nbudget_usd = -0.5", "tenants.a.budget_usd", None),
    (MINIMAL + "[tenants.a]\nbudget = 5", "tenants.a.budget", "budget_usd"),
    (MINIMAL + '[auth]\nenabled = "false"', "auth.enabled", None),
    (MINIMAL + "[server]\ngrace = 3", "server.grace", "grace_ms"),
    (MINIMAL + "[server]\nmax_rows = true", "server.max_rows", None),
    (MINIMAL + '[server]\naddress = ":50051"', "server.address", None),
    (
        MINIMAL + '[tasks.t.route]\nstrategy = "scred"\nproviders = ["rule"]',
        "tasks.t.route.strategy",
        "scored",
    ),
    (
        MINIMAL + '[tasks.t.route]\nstrategy = "scored"\nproviders = ["rule"]\nprice_weight = nan',
        "tasks.t.route.price_weight",
        None,
    ),
    (
        MINIMAL + '[tasks.t.route]\nstrategy = "scored"\nproviders = ["rules"]',
        "tasks.t.route.providers",
        "rule",
    ),
    (
        MINIMAL + '[[providers]]\nid = "s"\nkind = "simulated"\nanswer = [0.0]\n'
        'latency = { distribution = "lognormal", p50 = 1.0, p99_ms = 2.0 }',
        "providers[1].latency.p50",
        "p50_ms",
    ),
]


@pytest.mark.parametrize(("text", "path", "nearest"), MISTAKES, ids=[path for _, path, _ in MISTAKES])
def test_a_mistake_is_named_with_file_path_and_nearest_key(text, path, nearest):
    found = [problem for problem in problems(text) if problem.startswith(f"broker.toml: {path}: ")]
    assert len(found) == 1, problems(text)
    if nearest:
        assert found[0].endswith(f"(nearest valid key: {nearest})")
    elif "unknown key" in found[0]:
        assert "(nearest valid key: " in found[0]


def test_all_mistakes_of_a_file_are_told_at_once():
    text = """
    enfore_safety = true
    safety = "false"
    [tenants.a]
    budget_usd = -1.0
    [tasks.t.route]
    strategy = "scored"
    providers = ["rule"]
    price_weight = nan
    [[providers]]
    id = "rule"
    kind = "rules"
    timeout = 800
    timeout_s = 800
    hedge_delay_ms = "100"
    [[providers]]
    id = "rule"
    kind = "rules"
    """
    paths = {problem.split(": ")[1] for problem in problems(text)}
    assert paths == {
        "enfore_safety",
        "safety",
        "tenants.a.budget_usd",
        "tasks.t.route.price_weight",
        "providers[0].timeout",
        "providers[0].timeout_s",
        "providers[0].hedge_delay_ms",
        "providers[1].id",
    }


def test_what_is_not_toml_is_told_with_its_line():
    assert "line 2" in problems("[server]\nmax_rows = 1 2")[0]


def test_a_key_written_twice_is_refused():
    assert "is not TOML" in problems(MINIMAL + "[server]\nmax_rows = 1\nmax_rows = 2")[0]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read"):
        load(tmp_path / "absent.toml", KINDS, ROUTE_SETTINGS)


def test_paths_start_at_the_files_own_folder(tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.safetensors").touch()
    file = tmp_path / "broker.toml"
    file.write_text(
        '[ledger]\npath = "l.db"\n[[providers]]\nid = "p"\nkind = "policy"\nfile = "policies/p.safetensors"'
    )
    config = load(file, KINDS, ROUTE_SETTINGS)
    assert config.provider("p").file == tmp_path / "policies" / "p.safetensors"
    assert config.ledger.path == str(tmp_path / "l.db")


def test_a_policy_file_that_is_not_there_is_told(tmp_path):
    text = '[[providers]]\nid = "p"\nkind = "policy"\nfile = "absent"'
    assert problems(text) == ["broker.toml: providers[0].file: no such file"]


def test_sources_may_not_stand_on_each_other_in_a_circle():
    text = """
    [[providers]]
    id = "a"
    kind = "simulated"
    wraps = "b"
    [[providers]]
    id = "b"
    kind = "simulated"
    wraps = "a"
    """
    assert any("circle" in problem for problem in problems(text))


def test_a_source_that_wraps_nothing_known_is_told():
    text = MINIMAL + '[[providers]]\nid = "s"\nkind = "simulated"\nwraps = "rul"'
    assert problems(text)[0].endswith("(nearest valid key: rule)")


def test_sources_are_made_after_those_they_stand_on():
    text = '[[providers]]\nid = "s"\nkind = "simulated"\nwraps = "rule"\n' + MINIMAL
    assert [settings.id for settings in read(text).providers_in_order()] == ["rule", "s"]
