"""Writes a task folder: what the broker's rules, planner and dynamics must know of a task, as two files.

`model.xml` is MJCF; `task.json` holds, described in full in `docs/task_folder.md`:

    format            "guidance-task/1"; a reader refuses any other
    task_id, model, period_us, max_steps, frame_skip, constraints_ttl_s
    observation       dtype, shape, names [O], parts: MjData fields in order, each {source, start, clip?}
    action            dtype, shape, names [A], low [A], high [A], safe [A]
    sim_state         signature "mjSTATE_INTEGRATION", size
    cost_terms        {name: {kind, weight, ...}}: cost of a step = sum of weight x quantity = -reward
    termination       [{source, start, stop, low, high, inclusive}]; empty: never
"""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
from gymnasium.envs.mujoco import MujocoEnv

from agents.tasks.cost_terms import cost_terms, termination
from agents.tasks.info import TaskInfo, task_info
from agents.tasks.physics import ARGUMENTS, INTEGRATION, make_physics

FORMAT = "guidance-task/1"
CONSTRAINTS_TTL_S = 60.0
VELOCITY_CLIP = 10.0  # of the observed qvel of Hopper and Walker2d, fixed in Gymnasium's code


def export_task(task_id: str, directory: str | os.PathLike[str]) -> Path:
    """Write `task.json` and `model.xml` for `task_id` into `directory` (made if missing); returns it.

    KeyError for an unknown task. The folder leaves perturbations out: nobody can foresee them.
    """
    info = task_info(task_id)
    env = make_physics(info.stock_id)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.xml").write_text(model_xml(env), encoding="utf-8")
    text = json.dumps(describe(info, env), indent=2, allow_nan=False)
    (folder / "task.json").write_text(text + "\n", encoding="utf-8")
    env.close()
    return folder


def describe(info: TaskInfo, env: MujocoEnv) -> dict[str, Any]:
    """The content of `task.json`."""
    arguments = ARGUMENTS[info.stock_id]
    parts = observation_parts(info, env)
    return {
        "format": FORMAT,
        "task_id": info.task_id,
        "model": "model.xml",
        "period_us": info.period_us,
        "max_steps": info.max_steps,
        "frame_skip": arguments["frame_skip"],
        "constraints_ttl_s": CONSTRAINTS_TTL_S,
        "observation": {
            "dtype": "float64",
            "shape": [info.observation_dim],
            "names": observation_names(env.model, parts),
            "parts": parts,
        },
        "action": {
            "dtype": "float32",
            "shape": [info.action_dim],
            "names": list(info.action_names),
            "low": list(info.action_low),
            "high": list(info.action_high),
            "safe": list(info.safe_action),
        },
        "sim_state": {
            "signature": "mjSTATE_INTEGRATION",
            "size": int(mujoco.mj_stateSize(env.model, INTEGRATION)),
        },
        "cost_terms": cost_terms(arguments),
        "termination": termination(arguments),
    }


def observation_parts(info: TaskInfo, env: MujocoEnv) -> list[dict[str, Any]]:
    """The MjData fields an observation is made of, flattened from element `start` on, clipped to +-`clip`."""
    skipped = env.observation_structure["skipped_qpos"]  # type: ignore[attr-defined]
    parts: list[dict[str, Any]] = [{"source": "qpos", "start": skipped}, {"source": "qvel", "start": 0}]
    if info.stock_id in ("Hopper-v5", "Walker2d-v5"):
        parts[1]["clip"] = VELOCITY_CLIP
    if ARGUMENTS[info.stock_id].get("include_cfrc_ext_in_observation"):
        # the world body's six numbers are left out
        limit = ARGUMENTS[info.stock_id]["contact_force_range"][1]
        parts.append({"source": "cfrc_ext", "start": 6, "clip": limit})
    return parts


def observation_names(model: mujoco.MjModel, parts: list[dict[str, Any]]) -> list[str]:
    """One name an observation component: `qpos.thigh_joint`, `qvel.root.3`, `cfrc_ext.torso.0`."""
    fields = {
        "qpos": _joint_names("qpos", model, {0: 7, 1: 4, 2: 1, 3: 1}),  # free, ball, slide, hinge
        "qvel": _joint_names("qvel", model, {0: 6, 1: 3, 2: 1, 3: 1}),
        "cfrc_ext": [f"cfrc_ext.{_body_name(model, b)}.{k}" for b in range(model.nbody) for k in range(6)],
    }
    return [name for part in parts for name in fields[part["source"]][part["start"] :]]


def model_xml(env: MujocoEnv) -> str:
    """The stock MJCF, its deprecated total mass replaced by the density that gives the same bodies."""
    tree = ElementTree.parse(env.fullpath)
    root = tree.getroot()
    compiler = root.find("compiler")
    if compiler is not None and compiler.attrib.pop("settotalmass", None) is not None:
        unscaled = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
        factor = float(env.model.body_mass.sum() / unscaled.body_mass.sum())
        geom = root.find("default/geom")
        if geom is None or any("mass" in g.attrib or "density" in g.attrib for g in root.iter("geom")):
            raise ValueError(f"{env.fullpath} sets masses of its own; its total mass cannot become a density")
        geom.set("density", repr(1000.0 * factor))  # 1000 kg/m3 is MJCF's default
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _joint_names(field: str, model: mujoco.MjModel, widths: Mapping[int, int]) -> list[str]:
    names = []
    for j in range(model.njnt):
        joint = model.joint(j).name or f"joint{j}"
        width = widths[int(model.jnt_type[j])]
        names += [f"{field}.{joint}"] if width == 1 else [f"{field}.{joint}.{k}" for k in range(width)]
    return names


def _body_name(model: mujoco.MjModel, body: int) -> str:
    return model.body(body).name or f"body{body}"
