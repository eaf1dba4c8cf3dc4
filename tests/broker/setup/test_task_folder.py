"""A task folder is read whole or refused with every fault named."""

import json
from pathlib import Path

import pytest

from broker.setup.task_folder import TaskFolderError, load_task_folder

GOOD = {
    "format": "guidance-task/1",
    "task_id": "mine/Cart-v0",
    "model": "model.xml",
    "period_us": 20000,
    "max_steps": 500,
    "constraints_ttl_s": 2.5,
    "observation": {"dtype": "float64", "shape": [4], "names": ["a", "b", "c", "d"]},
    "action": {"dtype": "float32", "shape": [2], "names": ["left", "right"], "low": [-1, -2], "high": [1, 2]},
}


def write(folder: Path, **changes) -> Path:
    (folder / "task.json").write_text(json.dumps(GOOD | changes))
    return folder


def test_what_the_broker_needs_is_read(tmp_path):
    task = load_task_folder(write(tmp_path))
    assert (task.task, task.period_us, task.constraints_ttl_ms) == ("mine/Cart-v0", 20_000, 2_500)
    assert (task.observations[0].name, task.observations[0].shape) == ("observation", (4,))
    assert (task.action.low, task.action.names) == ((-1.0, -2.0), ("left", "right"))
    assert task.safe_action == ()
    assert task.model_path == tmp_path / "model.xml"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": "guidance-task/2"}, "format"),
        ({"period_us": 0}, "period_us"),
        ({"period_us": "8000"}, "period_us"),
        ({"action": GOOD["action"] | {"low": [-1]}}, "low and high need 2"),
        ({"action": GOOD["action"] | {"low": [1, 2]}}, "below"),
        ({"action": GOOD["action"] | {"names": ["one"]}}, "names needs 2"),
        ({"action": GOOD["action"] | {"safe": [0, 3]}}, "safe needs 2 numbers within the bounds"),
        ({"observation": {"dtype": "object", "shape": [4]}}, "observation.dtype"),
        ({"constraints_ttl_s": 0}, "constraints_ttl_s"),
    ],
)
def test_a_faulty_folder_is_refused_with_the_key(tmp_path, changes, named):
    with pytest.raises(TaskFolderError, match=named):
        load_task_folder(write(tmp_path, **changes))


def test_every_fault_is_named_at_once(tmp_path):
    with pytest.raises(TaskFolderError, match=r"period_us.*constraints_ttl_s"):
        load_task_folder(write(tmp_path, period_us=0, constraints_ttl_s=-1))


def test_a_folder_without_the_file_is_refused(tmp_path):
    with pytest.raises(TaskFolderError, match="cannot be read"):
        load_task_folder(tmp_path)
