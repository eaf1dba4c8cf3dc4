"""The learner: tasks, networks, PPO and the client. Imports `protos` only."""
