"""A source of guidance of one's own: a server that implements ProviderService. See README.md beside it."""

from __future__ import annotations

import argparse
import asyncio

import grpc
import grpc.aio
import numpy as np

from protos import codec
from protos.guidance.v1 import guidance_pb2, provider_pb2, provider_pb2_grpc
from protos.types import ActionAdvice

STANCE = np.array([-0.3, -0.6, 0.2])  # thigh, leg and foot of the hopper, radians


def advise(observation: np.ndarray) -> np.ndarray:
    """Raw observations ``[B, 11]`` in, torques ``[B, 3]`` out: pull the joints towards a stance."""
    joints, rates = observation[:, 2:5], observation[:, 8:11]
    return np.clip(1.0 * (STANCE - joints) - 0.1 * rates, -1.0, 1.0).astype(np.float32)


class Stance(provider_pb2_grpc.ProviderServiceServicer):
    async def Describe(self, request, context):  # asked once, when the broker starts
        info = guidance_pb2.ProviderInfo(
            provider_id="stance",
            guidance_kinds=[guidance_pb2.GUIDANCE_KIND_ACTION],
            period_us=8_000,  # a broker whose task has another control period refuses this source
            leasable=True,
        )
        info.action.box.shape.append(3)
        return provider_pb2.DescribeResponse(info=info)

    async def Guide(self, request, context):  # the call's deadline is the time that remains
        observation = codec.decode_tensor(request.ask.observations["observation"], "observation")
        guidance = codec.guidance_to_proto(ActionAdvice(advise(observation)))
        return provider_pb2.GuideResponse(outcome=provider_pb2.GUIDE_OUTCOME_OK, guidance=guidance)


async def serve(address: str) -> None:
    server = grpc.aio.server()
    provider_pb2_grpc.add_ProviderServiceServicer_to_server(Stance(), server)
    port = server.add_insecure_port(address)
    await server.start()
    print(f"serving on port {port}", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="127.0.0.1:50061")
    asyncio.run(serve(parser.parse_args().address))
