"""A Gymnasium agent: python examples/connect_sync.py 127.0.0.1:50051 guidance/PerturbedHopper-v0"""

import sys

import gymnasium

import agents.tasks  # noqa: F401 - registers the guidance/... environments
from agents.client import schema_of
from agents.client.sync import GuidanceClient
from protos.types import AskOptions


def main(address: str, task: str) -> int:
    """Guided for five steps out of every ten. Returns how many steps were executed by advice."""
    env, guided = gymnasium.make(task), 0
    with GuidanceClient(address) as client:
        session = client.open_session(task, **schema_of(env, period_us=8_000))
        session.start_episode(lane=0, episode=1)
        seen = {"observation": env.reset(seed=0)[0][None]}
        for step in range(100):
            if step % 10 == 0:
                session.ask([0], [step], seen, AskOptions(hold_steps=5))
            session.observe([0], [step], seen)
            session.settled([0], [step], timeout_s=0.004)  # half of the control period
            advice = session.advice(0, step)
            own = env.action_space.sample()  # your policy here
            action, _ = session.constrain(0, step, advice.action if advice else own)
            seen["observation"][0], _, done, cut, _ = env.step(action)
            guided += advice is not None
            if done or cut:
                break
    return guided


if __name__ == "__main__":
    print(main(*sys.argv[1:]), "steps were guided")
