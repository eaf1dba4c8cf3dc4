"""ndarray <-> Tensor: dtype, shape and little-endian row-major bytes, checked against each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from protos.codec.errors import ContractError
from protos.guidance.v1 import guidance_pb2 as pb
from protos.types import ActionSpec, BoxAction, DiscreteAction, Tensors, TensorSpec

_DTYPES = {
    pb.DATA_TYPE_BOOL: np.dtype("?"),
    pb.DATA_TYPE_UINT8: np.dtype("<u1"),
    pb.DATA_TYPE_UINT16: np.dtype("<u2"),
    pb.DATA_TYPE_UINT32: np.dtype("<u4"),
    pb.DATA_TYPE_UINT64: np.dtype("<u8"),
    pb.DATA_TYPE_INT8: np.dtype("<i1"),
    pb.DATA_TYPE_INT16: np.dtype("<i2"),
    pb.DATA_TYPE_INT32: np.dtype("<i4"),
    pb.DATA_TYPE_INT64: np.dtype("<i8"),
    pb.DATA_TYPE_FLOAT16: np.dtype("<f2"),
    pb.DATA_TYPE_FLOAT32: np.dtype("<f4"),
    pb.DATA_TYPE_FLOAT64: np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
SMALL = 256  # elements; a sum of so many costs less than it takes to start numpy
_RAW = (pb.ENCODING_UNSPECIFIED, pb.ENCODING_RAW)


def dtype_of(code: int, field: str) -> np.dtype:
    """The numpy dtype of a wire number."""
    dtype = _DTYPES.get(cast("pb.DataType", code))
    if dtype is None:
        raise ContractError(field, f"dtype {code} is not known; send one of DataType's", "INVALID_TENSOR")
    return dtype


def code_of(dtype: np.dtype, field: str) -> pb.DataType:
    """The wire number of a numpy dtype; object and other unsupported dtypes are refused."""
    code = _CODES.get(dtype) or _CODES.get(dtype.newbyteorder("<"))
    if code is None:
        raise ContractError(field, f"dtype {dtype} cannot travel; convert it to a number", "INVALID_TENSOR")
    return code


def encode_tensor(array: np.ndarray, field: str = "tensor") -> pb.Tensor:
    """Any memory order and byte order in, little-endian row-major out."""
    code = code_of(array.dtype, field)
    if array.dtype != _DTYPES[code]:
        array = array.astype(_DTYPES[code])
    return pb.Tensor(dtype=code, shape=array.shape, data=array.tobytes())


def decode_tensor(message: pb.Tensor, field: str) -> np.ndarray:
    """A read-only view of the message's bytes. Copy before writing.

    Raises :class:`ContractError` when dtype, shape and length do not fit together.
    """
    dtype = _DTYPES.get(message.dtype) or dtype_of(message.dtype, f"{field}.dtype")
    if message.encoding and message.encoding not in _RAW:
        raise ContractError(f"{field}.encoding", "only RAW is accepted here", "INVALID_TENSOR")
    shape, data = tuple(message.shape), message.data
    if shape and min(shape) < 0:
        raise ContractError(f"{field}.shape", f"{list(shape)} has a negative length", "INVALID_TENSOR")
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise ContractError(
            f"{field}.data",
            f"{len(data)} bytes, but shape {list(shape)} of {dtype.name} needs {expected}",
            "INVALID_TENSOR",
        )
    return np.ndarray(shape, dtype, data)


def encode_tensors(tensors: Tensors, into: Mapping[str, pb.Tensor], field: str) -> None:
    """Write named tensors into a message's map field."""
    for name, array in tensors.items():
        message = into[name]
        code = _CODES.get(array.dtype)
        if code is None or array.dtype != _DTYPES[code]:
            message.CopyFrom(encode_tensor(array, f"{field}[{name}]"))
            continue
        message.dtype = code  # in place: a copy of a message is written out and read back
        message.shape.extend(array.shape)
        message.data = array.tobytes()


def decode_tensors(messages: Mapping[str, pb.Tensor], rows: int | None, field: str) -> dict[str, np.ndarray]:
    """Named tensors whose first dimension is ``rows`` (None: any shape), every float finite."""
    tensors = {}
    for name, message in messages.items():
        place = f"{field}[{name}]"
        array = decode_tensor(message, place)
        if rows is not None and array.shape[:1] != (rows,):
            raise ContractError(
                f"{place}.shape", f"{list(array.shape)} should begin with the {rows} rows", "INVALID_TENSOR"
            )
        require_finite(array, place)
        tensors[name] = array
    return tensors


def require_finite(array: np.ndarray, field: str) -> None:
    """Raise :class:`ContractError` naming the row and index of the first NaN or infinity."""
    if array.dtype.kind != "f" or (array.size <= SMALL and math.isfinite(sum(array.ravel().tolist()))):
        return  # a finite sum proves finite terms: what is not finite once stays so
    if np.isfinite(array).all():
        return
    where = np.argwhere(~np.isfinite(array))[0].tolist()
    row, index = (where[0], where[1:]) if where else (0, [])
    raise ContractError(field, f"row {row}, index {index} is not finite; send finite values", "NON_FINITE")


def tensor_spec_to_proto(spec: TensorSpec) -> pb.TensorSpec:
    return pb.TensorSpec(
        name=spec.name,
        dtype=code_of(spec.dtype, spec.name),
        shape=spec.shape,
        low=spec.low,
        high=spec.high,
        unit=spec.unit,
        max_shape=spec.max_shape,
    )


def tensor_spec_from_proto(message: pb.TensorSpec, field: str = "spec") -> TensorSpec:
    if not message.name:
        raise ContractError(f"{field}.name", "every tensor needs a name", "MISSING_FIELD")
    return TensorSpec(
        name=message.name,
        dtype=dtype_of(message.dtype, f"{field}.dtype"),
        shape=_lengths(message.shape, f"{field}.shape"),
        low=tuple(message.low),
        high=tuple(message.high),
        unit=message.unit,
        max_shape=_lengths(message.max_shape, f"{field}.max_shape"),
    )


def _lengths(shape: Iterable[int], field: str) -> tuple[int, ...]:
    lengths = tuple(shape)
    if any(length < 0 for length in lengths):
        raise ContractError(field, f"{list(lengths)} has a negative length", "INVALID_TENSOR")
    return lengths


def action_spec_to_proto(spec: ActionSpec) -> pb.ActionSpec:
    if isinstance(spec, DiscreteAction):
        return pb.ActionSpec(discrete=pb.DiscreteSpace(n=spec.n, start=spec.start))
    return pb.ActionSpec(box=pb.BoxSpace(shape=spec.shape, low=spec.low, high=spec.high, names=spec.names))


def action_spec_from_proto(message: pb.ActionSpec, field: str = "action") -> ActionSpec:
    if message.HasField("discrete"):
        if message.discrete.n < 1:
            raise ContractError(f"{field}.discrete.n", "must be at least 1")
        return DiscreteAction(message.discrete.n, message.discrete.start)
    if not message.HasField("box"):
        raise ContractError(field, "give a box or a discrete space", "MISSING_FIELD")
    box = message.box
    shape = _lengths(box.shape, f"{field}.box.shape")
    size = math.prod(shape)
    low, high = _bounds(box.low, size, f"{field}.box.low"), _bounds(box.high, size, f"{field}.box.high")
    if any(lo > hi for lo, hi in zip(low, high, strict=True)):
        raise ContractError(f"{field}.box.low", "is above high")
    if box.names and len(box.names) != size:
        raise ContractError(f"{field}.box.names", f"{len(box.names)} names for {size} dimensions")
    return BoxAction(shape, low, high, tuple(box.names))


def _bounds(values: Sequence[float], size: int, field: str) -> tuple[float, ...]:
    if len(values) not in (0, 1, size):
        raise ContractError(field, f"{len(values)} values; give none, one, or {size}")
    if any(math.isnan(value) for value in values):
        raise ContractError(field, "is not a number", "NON_FINITE")
    if not values:
        return (-math.inf if field.endswith("low") else math.inf,) * size
    return tuple(values) if len(values) == size else (values[0],) * size
