"""What guidance costs, in units of return. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meta_policy.view import Flags, Floats


@dataclass(frozen=True, slots=True)
class Costs:
    """rate: return per USD; kappa: return per switch; tau: return per waited second (0 in realtime, where
    lateness already costs return); reliance: what a guided step costs besides its price, per unit of beta.

    With reliance 0 a free or cheap source would be followed all the time: cost alone does not keep an agent
    acting by itself.
    """

    rate: float
    kappa: float = 0.0
    tau: float = 0.0
    reliance: float = 0.0

    def utility(
        self,
        reward: Floats,
        price_usd: Floats,
        guided: Flags,
        switched: Flags,
        wait_ms: Floats,
        beta: Floats,
    ) -> Floats:
        """R_env - beta (rate price_usd + reliance guided) - kappa switches - tau waited seconds, `[B]`.

        >>> costs, yes = Costs(rate=1000.0, kappa=0.5, tau=25.0, reliance=0.25), np.array([True])
        >>> reward, price, wait, beta = (np.array([x]) for x in (4.0, 0.001, 20.0, 2.0))
        >>> costs.utility(reward, price, yes, yes, wait, beta).tolist()
        [0.5]
        """
        spent = beta * (self.rate * price_usd + self.reliance * guided)
        utility: Floats = reward - spent - self.kappa * switched - self.latency_cost(wait_ms)
        return utility

    def latency_cost(self, wait_ms: Floats) -> Floats:
        """tau * waited seconds."""
        cost: Floats = self.tau * np.asarray(wait_ms) / 1000.0
        return cost
