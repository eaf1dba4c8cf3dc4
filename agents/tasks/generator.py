"""Random generators of the task layers: seeded apart from each other, saved and restored bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WORD = 0xFFFF_FFFF_FFFF_FFFF


def layer_generator(seed: int, stream: int, *, fresh: bool = False) -> np.random.Generator:
    """Generator of layer `stream` for episode seed `seed`.

    `fresh` gives the streams used when only the noise is replaced: not those of a reset with the same seed.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(int(fresh), stream))))


def pack_generator(generator: np.random.Generator) -> NDArray[np.uint64]:
    """State of a PCG64 generator as six 64-bit words: state, increment, and the spare half of a draw.

    >>> generator, other = layer_generator(7, stream=0), layer_generator(8, stream=0)
    >>> load_generator(other, pack_generator(generator))
    >>> bool(generator.random() == other.random())
    True
    """
    state = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise ValueError(f"only PCG64 generators are saved, got {state['bit_generator']}")
    numbers = state["state"]["state"], state["state"]["inc"]
    words = [part for number in numbers for part in (number >> 64, number & _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def load_generator(generator: np.random.Generator, words: NDArray[np.uint64]) -> None:
    """Put `generator` (PCG64) where `pack_generator` saw one. ValueError unless there are six words.

    In place, because a new generator first gathers entropy, which takes as long as a step of the physics.
    """
    if np.shape(words) != (6,):
        raise ValueError(f"a packed generator has six words, got shape {np.shape(words)}")
    high, low, inc_high, inc_low, has_spare, spare = (int(word) for word in words)
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
        "has_uint32": has_spare,
        "uinteger": spare,
    }
