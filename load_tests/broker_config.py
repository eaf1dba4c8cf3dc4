"""A broker for the bench: a task of 105 numbers and 8 actions, a rule, a priced rule and a 64x64 policy."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

TASK = "load/Bench-v0"
TOKEN = "a-token-of-the-load-test"
TOKEN_VARIABLE = "GUIDANCE_LOAD_TOKEN"
OBSERVATION, ACTION, HIDDEN = 105, 8, 64

CONFIG = """
[server]
address = "{address}"
admin_address = "{admin}"
credits = 4096

[auth]
enabled = true
tokens = [{{ name = "load", token = "env:{variable}", tenant = "load", roles = ["agent", "metrics"] }}]

[ledger]
path = "ledger.sqlite3"

[tenants.load]
budget_usd = 1000.0

[tasks."{task}"]
folder = "task"
route = {{ strategy = "fixed", providers = ["rule", "paid", "policy"] }}

[[providers]]
id = "rule"
kind = "rules"
rule = "load_tests.rule:stand_still"

[[providers]]
id = "paid"
kind = "rules"
rule = "load_tests.rule:stand_still"
price = {{ usd_per_ask = 0.0000001 }}

[[providers]]
id = "policy"
kind = "policy"
file = "policy.safetensors"
"""


def write_broker_config(folder: Path, address: str, admin: str) -> Path:
    """Write the TOML and what it names into ``folder``; returns the TOML's path."""
    _write_task(folder / "task")
    _write_policy(folder / "policy.safetensors")
    path = folder / "broker.toml"
    path.write_text(CONFIG.format(address=address, admin=admin, variable=TOKEN_VARIABLE, task=TASK))
    return path


def _write_task(folder: Path) -> None:
    folder.mkdir()
    action = {"shape": [ACTION], "low": [-1.0] * ACTION, "high": [1.0] * ACTION, "safe": [0.0] * ACTION}
    task = {
        "format": "guidance-task/1",
        "task_id": TASK,
        "period_us": 50_000,
        "observation": {"dtype": "float64", "shape": [OBSERVATION]},
        "action": action,
    }
    (folder / "task.json").write_text(json.dumps(task))


def _write_policy(path: Path) -> None:
    """Random weights in the exported format (docs/policy_file.md): speed does not depend on their values."""
    rng = np.random.default_rng(0)
    tensors: dict[str, np.ndarray] = {
        "norm.mean": np.zeros(OBSERVATION),
        "norm.std": np.ones(OBSERVATION),
        "log_std": np.zeros(ACTION, np.float32),
    }
    sizes = (OBSERVATION, HIDDEN, HIDDEN, ACTION)
    for layer, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        weight = rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)
        tensors[f"actor.{layer}.weight"] = weight.astype(np.float32)
        tensors[f"actor.{layer}.bias"] = np.zeros(outputs, np.float32)
    about = {
        "format": 1,
        "task": TASK,
        "actor": {"layers": len(sizes) - 1, "activation": "tanh", "head": "gaussian"},
        "normaliser": {"clip": 10.0, "count": 1},
        "observation": {"name": "observation", "shape": [OBSERVATION], "dtype": "float64"},
        "action": {
            "shape": [ACTION],
            "dtype": "float32",
            "low": [-1.0] * ACTION,
            "high": [1.0] * ACTION,
            "names": [f"joint_{i}" for i in range(ACTION)],
        },
        "training": {},
    }
    save_file(tensors, path, metadata={"guidance.policy": json.dumps(about)})
