# SPDX-License-Identifier: Apache-2.0
"""For TensorFlow: a tf.data.Dataset whose elements are the batches of a pipeline.

One iteration is one epoch, and the next iteration the next epoch. An iteration that was left early is gone on with by the next one;
what the program's prefetch() had fetched ahead of it is lost. The position behind each batch can be had as a field of it: so it is
right whatever is fetched ahead."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Iterator

import tensorflow as tf

from ._cachew import UnsupportedError
from ._consumer import Consumer, State

if TYPE_CHECKING:
    from ._cachew import Array
    from ._cachew import Batch as NativeBatch
    from .connection import Connection
    from .pipeline import Field, Pipeline

_RAGGED = -2  # a dimension of a field in which rows of a batch differ
_DTYPES = {"u8": tf.uint8, "i8": tf.int8, "u16": tf.uint16, "i16": tf.int16, "u32": tf.uint32, "i32": tf.int32, "u64": tf.uint64, "i64": tf.int64,
           "f16": tf.float16, "bf16": tf.bfloat16, "f32": tf.float32, "f64": tf.float64, "bool": tf.bool, "str": tf.string}


def dataset(pipeline: Pipeline, *, service: Connection | str = "local:", seed: int = 0, epochs: int = 0, rank: int | None = None,
            world: int | None = None, input_context: tf.distribute.InputContext | None = None, token: bytes | None = None,
            token_field: str | None = None, **options: Any) -> tf.data.Dataset:
    """A tf.data.Dataset of dicts of tensors, one a batch.

    service: a Connection, or the address of a dispatcher. epochs: 0 = each iteration has an epoch; otherwise those after the last
    one are empty. rank, world: which of how many processes this is; input_context, which tf.distribute gives, has both. With
    several, the job needs a `name`, and rank r gets the batches k with k mod world = r. token_field: the name of a field with the
    position behind the batch, a scalar string; token: such a position, behind which the first iteration goes on. Other options are
    those of Connection.run. Strings are tf.string, and ragged fields are tf.RaggedTensor."""
    if (rank is None) != (world is None) or (rank is not None and input_context is not None):
        raise ValueError("either rank and world are given together, or input_context, or none of them")
    if input_context is not None:
        rank, world = input_context.input_pipeline_id, input_context.num_input_pipelines
    consumer = Consumer(pipeline, service, rank or 0, 1 if world is None else world, options | {"seed": seed, "epochs": epochs})
    if token:
        consumer.load(State(token))
    source = _Source(consumer, bool(token), token_field)
    made = tf.data.Dataset.from_generator(source.epoch, output_signature=source.signature())
    as_it_is = tf.data.Options()
    as_it_is.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF  # each rank has its part already
    as_it_is.experimental_optimization.inject_prefetch = False  # the job itself is ahead: what an iteration that is left has fetched is lost
    return made.with_options(as_it_is)


class _Source:
    """The batches of a consumer, by epoch. Threads of tf.data take turns."""

    def __init__(self, consumer: Consumer, resumed: bool, token_field: str | None):
        self._consumer = consumer
        self._resumed = resumed
        self._token_field = token_field
        self._lock = threading.Lock()
        self._turn = 0  # of the iteration that was begun last: those before it have ended

    def signature(self) -> dict[str, tf.TypeSpec]:
        fields = {field.name: _spec_of(field) for field in self._consumer.job().spec()}
        if self._token_field is not None:
            if self._token_field in fields:
                raise ValueError(f"token_field={self._token_field!r}: the pipeline has a field of that name")
            fields[self._token_field] = tf.TensorSpec((), tf.string)
        return fields

    def _next(self, turn: int) -> NativeBatch | None:
        with self._lock:
            if turn != self._turn or self._consumer.done:
                return None
            batch = self._consumer.next()
            if batch is None and self._resumed and not self._consumer.done:  # the position was behind an epoch's last batch
                batch = self._consumer.next()
            self._resumed = False
            return batch

    def epoch(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            self._turn += 1
            turn = self._turn
        while (batch := self._next(turn)) is not None:
            fields = {name: _value_of(array) for name, array in batch.items()}
            if self._token_field is not None:
                fields[self._token_field] = batch.token or b""
            yield fields


def _spec_of(field: Field) -> tf.TypeSpec:
    shape = [None if size < 0 else size for size in field.shape]
    if _RAGGED not in field.shape:
        return tf.TensorSpec(shape, _DTYPES[field.dtype])
    if _RAGGED in field.shape[2:]:
        raise UnsupportedError(f"field {field.name}: rows differ in more than their first dimension, which a RaggedTensor cannot tell: pad them "
                               "(padded_batch)")
    return tf.RaggedTensorSpec(shape, _DTYPES[field.dtype], ragged_rank=1, row_splits_dtype=tf.int64)


def _value_of(array: Array) -> Any:
    """What from_generator takes: an array, or of ragged rows a RaggedTensor."""
    if array.offsets is None:
        return array.numpy()
    return tf.RaggedTensor.from_row_splits(array.numpy(), array.offsets.numpy(), validate=False)
