"""``guidance-broker providers``: the sources of a running broker, as it sees them now."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from broker.cli.connection import TIMEOUT_S, add_connection_arguments, connected, told
from broker.cli.table import print_table, usd
from protos.guidance.v1 import guidance_pb2 as pb
from protos.guidance.v1.guidance_pb2_grpc import GuidanceServiceStub


def add_arguments(parser: ArgumentParser) -> None:
    add_connection_arguments(parser)
    parser.add_argument("--task", default="", help="only those that serve this task")


def run(args: Namespace) -> int:
    request = pb.ListProvidersRequest(task=args.task)
    with connected(args) as (channel, metadata):
        stub = GuidanceServiceStub(channel)
        response = told(
            "providers", args, lambda: stub.ListProviders(request, timeout=TIMEOUT_S, metadata=metadata)
        )
    if response is None:
        return 1
    states = {state.provider_id: state for state in response.states}
    rows = [row(info, states.get(info.provider_id)) for info in response.providers]
    columns = ("id", "kind", "state", "p50", "p95", "in flight", "USD/ask", "USD/step")
    print_table(f"providers, configuration {response.config_generation}", columns, rows)
    return 0


def row(info: pb.ProviderInfo, state: pb.ProviderUpdate | None) -> tuple[str, ...]:
    """One source as the cells of a table."""
    return (
        info.provider_id,
        pb.ProviderKind.Name(info.kind).removeprefix("PROVIDER_KIND_").lower(),
        "unknown" if state is None else _state(state),
        "-" if state is None else _milliseconds(state.latency.p50_ms),
        "-" if state is None else _milliseconds(state.latency.p95_ms),
        "-" if state is None else str(state.in_flight),
        usd(info.price.usd_per_ask),
        usd(info.price.usd_per_leased_step),
    )


def _state(state: pb.ProviderUpdate) -> str:
    name = pb.ProviderUpdate.State.Name(state.state).removeprefix("STATE_").lower()
    return f"{name} {state.progress:.0%}" if state.state == pb.ProviderUpdate.STATE_LOADING else name


def _milliseconds(value: float) -> str:
    return f"{value:.3g} ms" if value else "-"
