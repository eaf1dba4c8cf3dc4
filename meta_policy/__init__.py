"""Whether and whom to ask: the decision, its training on a virtual clock, its proof against a live broker.

Importing this package registers the decision itself as Gymnasium environments: `guidance/AskHopper-v0` and
`guidance/AskHalfCheetah-v0`.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before numpy loads: small matrices only lose by a second thread

import gymnasium  # noqa: E402  (the lines above come first on purpose)

for _name in ("Hopper", "HalfCheetah"):
    if f"guidance/Ask{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"guidance/Ask{_name}-v0",
            entry_point="meta_policy.environment:AskEnv",
            kwargs={"task": f"Perturbed{_name}"},
            disable_env_checker=True,
            order_enforce=False,
        )
