"""Running statistics that scale observations and rewards: numpy, float64, saved and restored bit for bit.

Nothing here updates by itself: `update` is called by the learner, `normalise` and `scale` only read. Frozen
statistics refuse an update, so that an evaluation cannot move them unseen.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
State = dict[str, np.ndarray]

EPSILON = 1e-8  # added to the variance, so that a component that never moves maps to 0


class RunningNorm:
    """Mean and variance of everything seen; `normalise` gives (x - mean) / sqrt(var + 1e-8) within +-`clip`.

    Batches are merged by the parallel form of Welford's update: with delta = mean_b - mean and n = n_a + n_b,
    mean += delta n_b / n, M2 += M2_b + delta^2 n_a n_b / n, var = M2 / n (Chan, Golub and LeVeque 1983).
    Before the first update mean is 0 and var 1.

    >>> norm = RunningNorm((1,))
    >>> norm.update([[1.0], [3.0]])
    >>> float(norm.mean[0]), float(norm.var[0]), norm.version
    (2.0, 1.0, 1)
    """

    def __init__(self, shape: tuple[int, ...], clip: float = 10.0) -> None:
        self.shape = shape
        self.clip = clip
        self.mean: Floats = np.zeros(shape)
        self.count = 0
        self.version = 0  # rises with every update: says which statistics a stored value was normalised with
        self.frozen = False
        self._m2: Floats = np.zeros(shape)
        self._scale: Floats = np.ones(shape)

    @property
    def var(self) -> Floats:
        """Population variance, `shape`; ones before the first update."""
        return self._m2 / self.count if self.count else np.ones(self.shape)

    def update(self, batch: ArrayLike) -> None:
        """Merge `batch` [..., *shape]. Frozen: RuntimeError; wrong shape or non-finite value: ValueError."""
        if self.frozen:
            raise RuntimeError("the statistics are frozen: evaluation must not update them")
        rows = self._rows(batch)
        if not len(rows):
            return
        total = self.count + len(rows)
        mean = rows.mean(axis=0)
        delta = mean - self.mean
        self._m2 = self._m2 + ((rows - mean) ** 2).sum(axis=0) + delta**2 * (self.count * len(rows) / total)
        self.mean = self.mean + delta * (len(rows) / total)
        self.count = total
        self.version += 1
        self._refresh()

    def normalise(self, x: ArrayLike) -> Floats:
        """`x` [..., *shape] -> the same shape, float64. Reads only."""
        scaled = (np.asarray(x, dtype=np.float64) - self.mean) * self._scale
        return np.clip(scaled, -self.clip, self.clip, out=scaled if scaled.ndim else None)

    def freeze(self) -> None:
        self.frozen = True

    def unfreeze(self) -> None:
        self.frozen = False

    def state_dict(self) -> State:
        """Copies of the statistics: `mean`, `m2`, `count`, `version`."""
        counters = {"count": np.asarray(self.count, np.int64), "version": np.asarray(self.version, np.int64)}
        return {"mean": self.mean.copy(), "m2": self._m2.copy(), **counters}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore `state_dict()`. Missing entry: KeyError; wrong shape: ValueError; nothing changes then."""
        mean, m2 = (np.array(state[key], dtype=np.float64) for key in ("mean", "m2"))
        count, version = int(state["count"]), int(state["version"])
        if mean.shape != self.shape or m2.shape != self.shape:
            raise ValueError(f"statistics of shape {mean.shape} given to a normaliser of shape {self.shape}")
        self.mean, self._m2, self.count, self.version = mean, m2, count, version
        self._refresh()

    def _refresh(self) -> None:
        self._scale = 1.0 / np.sqrt(self.var + EPSILON)

    def _rows(self, batch: ArrayLike) -> Floats:
        array = np.asarray(batch, dtype=np.float64)
        if array.shape[array.ndim - len(self.shape) :] != self.shape:
            raise ValueError(f"batch of shape {array.shape} does not end in {self.shape}")
        if not np.isfinite(array).all():
            raise ValueError("a non-finite value would spoil the statistics for good")
        return array.reshape(-1, *self.shape)


class ReturnScaler:
    """Rewards divided by the standard deviation of the running discounted return, clipped to +-`clip`.

    Per environment i: G_i <- gamma G_i + r_i, then G_i <- 0 where the episode ended, either way;
    reward / sqrt(var(G) + 1e-8). The mean is not subtracted: that would change what is optimal.
    `gamma` is the learner's own (Engstrom et al. 2020, appendix A).

    >>> scaler = ReturnScaler(gamma=0.5, num_envs=1)
    >>> for reward in (2.0, 1.0):
    ...     scaler.update([reward], [False])
    >>> float(scaler.accumulated[0])
    2.0
    """

    def __init__(self, gamma: float, num_envs: int, clip: float = 10.0) -> None:
        if not 0.0 <= gamma <= 1.0:
            raise ValueError(f"gamma must lie in [0, 1], got {gamma}")
        self.gamma = gamma
        self.clip = clip
        self.accumulated: Floats = np.zeros(num_envs)
        self.norm = RunningNorm(())

    @property
    def std(self) -> float:
        """What rewards are divided by."""
        return float(np.sqrt(self.norm.var + EPSILON))

    def update(self, reward: ArrayLike, done: ArrayLike, valid: ArrayLike | None = None) -> None:
        """One vector step: `reward` [N], `done` [N]; rows where `valid` [N] is false are left out."""
        rows = np.ones(len(self.accumulated), np.bool_) if valid is None else np.asarray(valid, np.bool_)
        if self.norm.frozen:
            raise RuntimeError("the statistics are frozen: evaluation must not update them")
        discounted = self.gamma * self.accumulated + np.asarray(reward, dtype=np.float64)
        self.norm.update(discounted[rows])
        running = np.where(rows, discounted, self.accumulated)
        self.accumulated = np.where(np.asarray(done, np.bool_), 0.0, running)

    def scale(self, reward: ArrayLike) -> Floats:
        """`reward` of any shape -> scaled and clipped, float64. Reads only."""
        return np.clip(np.asarray(reward, dtype=np.float64) / self.std, -self.clip, self.clip)

    def freeze(self) -> None:
        self.norm.freeze()

    def unfreeze(self) -> None:
        self.norm.unfreeze()

    def state_dict(self) -> State:
        """Statistics, accumulators and gamma: `norm/...`, `accumulated`, `gamma`."""
        own = {"accumulated": self.accumulated.copy(), "gamma": np.asarray(self.gamma)}
        return own | {f"norm/{key}": value for key, value in self.norm.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore `state_dict()`. Another number of environments or another gamma is a ValueError."""
        accumulated = np.array(state["accumulated"], dtype=np.float64)
        if accumulated.shape != self.accumulated.shape:
            raise ValueError(f"state of {accumulated.size} environments given to {self.accumulated.size}")
        if float(state["gamma"]) != self.gamma:
            raise ValueError(f"the state has gamma {float(state['gamma'])}, this scaler {self.gamma}")
        self.norm.load_state_dict({key[5:]: value for key, value in state.items() if key.startswith("norm/")})
        self.accumulated = accumulated
