"""How a head learns: rollouts on the virtual clock, PPO over the decisions, runs that can be resumed."""
