"""Types to messages and back. Whatever comes off the wire is validated here, and nowhere else.

Every `*_from_proto` raises :class:`ContractError`, which names the field and the fix.
"""

from protos.codec.answers import (
    answer_from_proto,
    answer_to_proto,
    failure_from_proto,
    failure_to_proto,
    outcome_from_proto,
    outcome_to_proto,
)
from protos.codec.asks import (
    lease_rows_from_proto,
    lease_rows_to_proto,
    options_from_proto,
    options_to_proto,
    query_from_proto,
    query_to_proto,
    write_query,
)
from protos.codec.errors import ContractError
from protos.codec.guidance import (
    constraints_from_proto,
    constraints_to_proto,
    guidance_from_proto,
    guidance_to_proto,
    merge_from_proto,
    merge_to_proto,
    valid_while_from_proto,
    valid_while_to_proto,
)
from protos.codec.providers import (
    price_from_proto,
    price_to_proto,
    provider_info_from_proto,
    provider_info_to_proto,
    provider_update_from_proto,
    provider_update_to_proto,
)
from protos.codec.sessions import (
    hello_from_proto,
    hello_to_proto,
    lane_event_from_proto,
    lane_event_to_proto,
    operator_push_from_proto,
    operator_push_to_proto,
    welcome_from_proto,
    welcome_to_proto,
)
from protos.codec.tensors import (
    action_spec_from_proto,
    action_spec_to_proto,
    decode_tensor,
    decode_tensors,
    encode_tensor,
    require_finite,
    tensor_spec_from_proto,
    tensor_spec_to_proto,
)

__all__ = [
    "ContractError",
    "action_spec_from_proto",
    "action_spec_to_proto",
    "answer_from_proto",
    "answer_to_proto",
    "constraints_from_proto",
    "constraints_to_proto",
    "decode_tensor",
    "decode_tensors",
    "encode_tensor",
    "failure_from_proto",
    "failure_to_proto",
    "guidance_from_proto",
    "guidance_to_proto",
    "hello_from_proto",
    "hello_to_proto",
    "lane_event_from_proto",
    "lane_event_to_proto",
    "lease_rows_from_proto",
    "lease_rows_to_proto",
    "merge_from_proto",
    "merge_to_proto",
    "operator_push_from_proto",
    "operator_push_to_proto",
    "options_from_proto",
    "options_to_proto",
    "outcome_from_proto",
    "outcome_to_proto",
    "price_from_proto",
    "price_to_proto",
    "provider_info_from_proto",
    "provider_info_to_proto",
    "provider_update_from_proto",
    "provider_update_to_proto",
    "query_from_proto",
    "query_to_proto",
    "require_finite",
    "tensor_spec_from_proto",
    "tensor_spec_to_proto",
    "valid_while_from_proto",
    "valid_while_to_proto",
    "welcome_from_proto",
    "welcome_to_proto",
    "write_query",
]
