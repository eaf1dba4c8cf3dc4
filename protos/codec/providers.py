"""What a source declares, and its live state, <-> messages."""

from __future__ import annotations

import math
from typing import cast

from protos.codec.errors import ContractError, to_enum
from protos.codec.tensors import (
    action_spec_from_proto,
    action_spec_to_proto,
    tensor_spec_from_proto,
    tensor_spec_to_proto,
)
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import (
    GuidanceKind,
    LatencyQuantiles,
    PredictionQuality,
    Price,
    ProviderInfo,
    ProviderKind,
    ProviderState,
    ProviderUpdate,
    Reads,
    StateScope,
)


def price_to_proto(price: Price) -> pb.Price:
    return pb.Price(
        usd_per_ask=price.usd_per_ask,
        usd_per_leased_step=price.usd_per_leased_step,
        usd_per_input_token=price.usd_per_input_token,
        usd_per_output_token=price.usd_per_output_token,
        billed_when_cancelled=price.billed_when_cancelled,
    )


def price_from_proto(message: pb.Price, field: str = "price") -> Price:
    """Raises :class:`ContractError` for a price that is negative or not finite."""
    price = Price(
        message.usd_per_ask,
        message.usd_per_leased_step,
        message.usd_per_input_token,
        message.usd_per_output_token,
        message.billed_when_cancelled,
    )
    tokens = (price.usd_per_input_token, price.usd_per_output_token)
    parts = (price.usd_per_ask, price.usd_per_leased_step, *tokens)
    if not all(math.isfinite(part) and part >= 0 for part in parts):
        raise ContractError(field, "every part must be a finite number of USD, 0 or more")
    return price


def provider_info_to_proto(info: ProviderInfo) -> pb.ProviderInfo:
    return pb.ProviderInfo(
        provider_id=info.provider_id,
        kind=cast("pb.ProviderKind", int(info.kind)),
        guidance_kinds=[cast("pb.GuidanceKind", int(kind)) for kind in sorted(info.guidance_kinds)],
        price=price_to_proto(info.price),
        tasks=info.tasks,
        observations=[tensor_spec_to_proto(spec) for spec in info.observations],
        action=None if info.action is None else action_spec_to_proto(info.action),
        timeout_ms=info.timeout_ms,
        max_concurrency=info.max_concurrency,
        state_scope=cast("pb.StateScope", int(info.state_scope)),
        chunk_len=info.chunk_len,
        period_us=info.period_us,
        layout_id=info.layout_id,
        action_names=info.action_names,
        max_delay_steps=info.max_delay_steps,
        reads=pb.Reads(
            prefix=info.reads.prefix,
            sim_state=info.reads.sim_state,
            context=info.reads.context,
            history=info.reads.history,
        ),
        key_fields=info.key_fields,
        leasable=info.leasable,
    )


def provider_info_from_proto(message: pb.ProviderInfo) -> ProviderInfo:
    reads = message.reads
    return ProviderInfo(
        provider_id=message.provider_id,
        kind=to_enum(ProviderKind, message.kind, "info.kind", ProviderKind.REMOTE),
        guidance_kinds=frozenset(
            to_enum(GuidanceKind, kind, "info.guidance_kinds") for kind in message.guidance_kinds
        ),
        price=price_from_proto(message.price, "info.price"),
        tasks=tuple(message.tasks),
        observations=tuple(tensor_spec_from_proto(s, "info.observations") for s in message.observations),
        action=action_spec_from_proto(message.action, "info.action") if message.HasField("action") else None,
        timeout_ms=message.timeout_ms,
        max_concurrency=message.max_concurrency,
        state_scope=to_enum(StateScope, message.state_scope, "info.state_scope", StateScope.NONE),
        chunk_len=message.chunk_len,
        period_us=message.period_us,
        layout_id=message.layout_id,
        action_names=tuple(message.action_names),
        max_delay_steps=message.max_delay_steps,
        reads=Reads(reads.prefix, reads.sim_state, reads.context, reads.history),
        key_fields=tuple(message.key_fields),
        leasable=message.leasable,
    )


def provider_update_to_proto(update: ProviderUpdate) -> pb.ProviderUpdate:
    latency, prediction = update.latency, update.prediction
    message = pb.ProviderUpdate(
        provider_id=update.provider_id,
        state=cast("pb.ProviderUpdate.State", int(update.state)),
        progress=update.progress,
        latency=pb.LatencyQuantiles(
            p50_ms=latency.p50_ms, p95_ms=latency.p95_ms, p99_ms=latency.p99_ms, samples=latency.samples
        ),
        price=price_to_proto(update.price),
        in_flight=update.in_flight,
        queued=update.queued,
        config_generation=update.config_generation,
    )
    if prediction is not None:
        message.prediction.agreement = prediction.agreement
        message.prediction.error_p90 = prediction.error_p90
        message.prediction.served_share = prediction.served_share
    if update.info is not None:
        message.info.CopyFrom(provider_info_to_proto(update.info))
    return message


def provider_update_from_proto(message: pb.ProviderUpdate) -> ProviderUpdate:
    latency, prediction = message.latency, message.prediction
    return ProviderUpdate(
        provider_id=message.provider_id,
        state=to_enum(ProviderState, message.state, "provider_update.state"),
        progress=message.progress,
        latency=LatencyQuantiles(latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.samples),
        price=price_from_proto(message.price, "provider_update.price"),
        in_flight=message.in_flight,
        queued=message.queued,
        prediction=PredictionQuality(prediction.agreement, prediction.error_p90, prediction.served_share)
        if message.HasField("prediction")
        else None,
        config_generation=message.config_generation,
        info=provider_info_from_proto(message.info) if message.HasField("info") else None,
    )
