"""Whether and whom to ask: the decision, its training on a virtual clock, its proof against a live broker.

Importing this package registers the decision itself as Gymnasium environments: `guidance/AskHopper-v0` and
`guidance/AskHalfCheetah-v0`.
"""

import gymnasium

for _name in ("Hopper", "HalfCheetah"):
    if f"guidance/Ask{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"guidance/Ask{_name}-v0",
            entry_point="meta_policy.environment:AskEnv",
            kwargs={"task": f"Perturbed{_name}"},
            disable_env_checker=True,
            order_enforce=False,
        )
