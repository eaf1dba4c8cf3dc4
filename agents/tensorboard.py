"""Progress as TensorBoard events, under the names Stable-Baselines3 gives the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# ours -> theirs, with the sign theirs has: they log the entropy's share of the loss
NAMES: Mapping[str, str] = {
    "ep_return_mean": "rollout/ep_rew_mean",
    "ep_length_mean": "rollout/ep_len_mean",
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "approx_kl": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
    "learning_rate": "train/learning_rate",
    "std": "train/std",
    "updates": "train/n_updates",
}
NOT_PLOTTED = ("steps", "entropy")


class TensorBoardLog:
    """Scalars by environment step in `folder`; those after `steps`, a resumed run's, are dropped."""

    def __init__(self, folder: Path, steps: int) -> None:
        from torch.utils.tensorboard import (
            SummaryWriter,
        )  # only where asked for: importing torch takes seconds

        self.writer = SummaryWriter(str(folder), purge_step=steps + 1)

    def write(self, row: Mapping[str, float]) -> None:
        steps = int(row["steps"])
        for name, value in scalars(row).items():
            self.writer.add_scalar(name, value, steps)
        self.writer.flush()

    def write_evaluation(self, steps: int, mean_return: float, mean_length: float) -> None:
        self.writer.add_scalar("eval/mean_reward", mean_return, steps)
        self.writer.add_scalar("eval/mean_ep_length", mean_length, steps)
        self.writer.flush()


def scalars(row: Mapping[str, float]) -> dict[str, float]:
    """A progress row by tag; a figure that is not there yet (NaN) is left out.

    What has no counterpart in Stable-Baselines3 is under `guidance/`.
    """
    named = {NAMES.get(name, f"guidance/{name}"): v for name, v in row.items() if name not in NOT_PLOTTED}
    named["train/entropy_loss"] = -row["entropy"]
    return {tag: value for tag, value in named.items() if value == value}
