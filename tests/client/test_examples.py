"""An agent of one's own in a few lines; that the examples run is tested with the broker."""

from __future__ import annotations

import ast

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from agents.client import schema_of
from protos.types import BoxAction, DiscreteAction
from tests.client.live_broker import ROOT

EXAMPLES = ["connect_async.py", "connect_sync.py"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_agent_is_under_twenty_lines(name: str) -> None:
    tree = ast.parse((ROOT / "examples" / name).read_text())
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    assert main.end_lineno - main.body[1].lineno + 2 < 20  # its signature and all after the docstring


class Spaces(gymnasium.Env[np.ndarray, np.ndarray]):
    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> None:
        self.observation_space = observation_space
        self.action_space = action_space


def test_a_dict_of_boxes_becomes_named_tensors_in_their_dtypes() -> None:
    space = Dict({"image": Box(0, 255, (4, 4), np.uint8), "joints": Box(-1, 1, (3,), np.float32)})
    schema = schema_of(Spaces(space, Discrete(5, start=2)), period_us=1_000, lanes=2)
    names = [(spec.name, spec.dtype.name, spec.shape) for spec in schema["observations"]]
    assert names == [("image", "uint8", (4, 4)), ("joints", "float32", (3,))]
    assert schema["action"] == DiscreteAction(5, 2)
    assert [lane.lane for lane in schema["lanes"]] == [0, 1]


def test_a_box_of_actions_keeps_its_bounds() -> None:
    box = Box(np.array([-1.0, -2.0]), np.array([1.0, 2.0]), dtype=np.float64)
    assert schema_of(Spaces(box, box), 1_000)["action"] == BoxAction((2,), (-1.0, -2.0), (1.0, 2.0))


def test_other_spaces_are_refused_by_name() -> None:
    box = Box(-1, 1, (1,))
    with pytest.raises(TypeError, match="observation"):
        schema_of(Spaces(Discrete(3), box), 1_000)
    with pytest.raises(TypeError, match="action"):
        schema_of(Spaces(box, Tuple([box])), 1_000)
