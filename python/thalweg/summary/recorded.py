# SPDX-License-Identifier: Apache-2.0
"""tw.compat.v2.summary: operations that write a summary to the default writer when they run."""
from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.base.text import as_bytes
from thalweg.control.control_flow import cond
from thalweg.control.functional_ops import map_fn
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.image.colors import convert_image_dtype
from thalweg.operations import array_ops, checks, math_ops
from thalweg.summary import writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from thalweg.base.typing import IntLike, TensorLike, Text
    from thalweg.messages import SummaryMetadata

_WAV = b"\x10\x0b"  # the audio plug-in's own message: its encoding is 11


@contextlib.contextmanager
def summary_scope(name: Text | None, default_name: str = "summary", values: Iterable[object] | None = None) -> Iterator[tuple[str, str]]:
    """with summary_scope("my loss") as (tag, scope): a scope whose name is made of what names of operations may have, and the tag, which
    is the name as it is below the scopes around it."""
    name = name or default_name
    around = graph.get_default_graph().get_name_scope()
    tag = f"{around}/{name}" if around else name
    with name_scope(re.sub(r"[^A-Za-z0-9_.\-/]", "", name) or None, default_name, values) as scope:
        yield tag, scope


def _step(step):
    step = writers.get_step() if step is None else step
    if step is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    return math_ops.cast(step, dtypes.int64) if isinstance(step, Tensor) else convert_to_tensor(step, dtype=dtypes.int64)


def write(tag: TensorLike, tensor: TensorLike | Callable[[], TensorLike], step: IntLike | None = None,
          metadata: SummaryMetadata | bytes | None = None, name: Text | None = None) -> Tensor:
    """Writes a tensor to the default writer.

    Parameters
    ----------
    tag : str or Tensor
        What it is called.
    tensor : tensor_like or callable
        Of any type; a function makes it, which is called only where it is recorded.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    metadata : SummaryMetadata or bytes, optional
        Says which plug-in of TensorBoard shows it.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A bool: whether it was written.

    Raises
    ------
    ValueError
        If there is a writer and no step.
    """
    with name_scope(name, "write_summary") as scope:
        writer = writers.state.writer
        if not isinstance(writer, writers.ResourceWriter):
            return constant(False)
        number = _step(step)
        about = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata or b""

        def make():
            value = array_ops.identity(convert_to_tensor(tensor() if callable(tensor) else tensor))
            return apply("WriteSummary", [writer.resource, number, value, tag, about], name=scope)
        return writers.recorded(make, True, "summary_cond")


def write_raw_pb(tensor: TensorLike, step: IntLike | None = None, name: Text | None = None) -> Tensor:
    """Writes a serialized Summary to the default writer; gives a bool, whether it was written."""
    with name_scope(name, "write_raw_pb") as scope:
        writer = writers.state.writer
        if not isinstance(writer, writers.ResourceWriter):
            return constant(False)
        number = _step(step)
        return writers.recorded(lambda: apply("WriteRawProtoSummary", [writer.resource, number, array_ops.identity(tensor)], name=scope), True,
                                "summary_cond")


def _metadata(plugin, description, content=b""):
    return messages.SummaryMetadata(summary_description=description, plugin_data=messages.SummaryMetadata.PluginData(
        plugin_name=plugin, content=content))


def scalar(name: Text, data: TensorLike, step: IntLike | None = None, description: str | None = None) -> Tensor:
    """Writes a number to the default writer.

    Parameters
    ----------
    name : str
        The tag, below the scopes around.
    data : tensor_like
        A scalar of a real type; written as a float32.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    description : str, optional
        Shown beside it, as Markdown.

    Returns
    -------
    Tensor
        A bool: whether it was written.

    Raises
    ------
    ValueError
        If it is no scalar, or there is a writer and no step.
    """
    with summary_scope(name, "scalar_summary", [data, step]) as (tag, _):
        checks.assert_scalar(data)
        return write(tag, math_ops.cast(data, dtypes.float32), step, _metadata("scalars", description))


def histogram(name: Text, data: TensorLike, step: IntLike | None = None, buckets: IntLike | None = None,
              description: str | None = None) -> Tensor:
    """Writes how values are distributed to the default writer.

    Parameters
    ----------
    name : str
        The tag, below the scopes around.
    data : tensor_like
        Of a real type and any shape.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    buckets : int, optional
        How many, of equal width; 30 by default.
    description : str, optional
        Shown beside it, as Markdown.

    Returns
    -------
    Tensor
        A bool: whether it was written.
    """
    with summary_scope(name, "histogram_summary", [data, buckets, step]) as (tag, _):
        return write(tag, lambda: _buckets(data, 30 if buckets is None else buckets), step, _metadata("histograms", description))


def _buckets(data, count):
    """[count, 3]: where each begins, ends and how many values are in it. All zero without values; one value stands in the last bucket."""
    with name_scope("buckets"):
        checks.assert_scalar(count)
        count = apply("Maximum", [convert_to_tensor(count, dtype=dtypes.int32), 0])
        values = array_ops.reshape(math_ops.cast(data, dtypes.float64), [-1])
        some = array_ops.size(values) > 0
        low, high = (array_ops.where(some, bound(values), constant(0.0, dtypes.float64))
                     for bound in (math_ops.reduce_min, math_ops.reduce_max))
        width = (high - low) / math_ops.cast(count, dtypes.float64)
        at = math_ops.cast(apply("Floor", [(values - low) / width]), dtypes.int32)
        at = array_ops.where(array_ops.fill(array_ops.shape(values), width > 0), at, array_ops.zeros_like(at) + count)
        ones = array_ops.ones_like(at, dtype=dtypes.int64)
        counts = math_ops.cast(math_ops.unsorted_segment_sum(ones, apply("Minimum", [at, count - 1]), count), dtypes.float64)
        inner = math_ops.linspace(low, high, count + 1)[:-1]  # the last edge is the greatest value itself, which rounding could miss
        edges = array_ops.concat([inner, array_ops.reshape(high, [1])], 0)
        return array_ops.stack([edges[:-1], edges[1:], counts], axis=1)


def _encoded(rows, encode, name):
    """A string for each row, none where there are none."""
    count = array_ops.shape(rows)[0]
    return cond(count > 0, lambda: map_fn(encode, rows, dtype=dtypes.string, name=name),
                lambda: constant([], dtypes.string))


def image(name: Text, data: TensorLike, step: IntLike | None = None, max_outputs: IntLike = 3,
          description: str | None = None) -> Tensor:
    """Writes images to the default writer.

    Parameters
    ----------
    name : str
        The tag, below the scopes around.
    data : tensor_like
        Of shape [batch, height, width, channels] with 1 to 4 channels; floats from 0 to 1, or integers.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    max_outputs : int
        How many of the batch.
    description : str, optional
        Shown beside it, as Markdown.

    Returns
    -------
    Tensor
        A bool: whether it was written.
    """
    with summary_scope(name, "image_summary", [data, max_outputs, step]) as (tag, _):
        checks.assert_rank(data, 4)
        checks.assert_non_negative(max_outputs)

        def files():
            images = convert_image_dtype(data, dtypes.uint8, saturate=True)[:max_outputs]
            size = array_ops.shape(images)
            sides = apply("AsString", [array_ops.stack([size[2], size[1]])])
            return array_ops.concat([sides, _encoded(images, lambda x: apply("EncodePng", [x]), "encode_each_image")], 0)
        return write(tag, files, step, _metadata("images", description))


def audio(name: Text, data: TensorLike, sample_rate: IntLike, step: IntLike | None = None, max_outputs: IntLike = 3,
          encoding: str | None = None, description: str | None = None) -> Tensor:
    """Writes sounds to the default writer.

    Parameters
    ----------
    name : str
        The tag, below the scopes around.
    data : tensor_like
        float32 of shape [batch, frames, channels], from -1 to 1.
    sample_rate : int
        Frames a second.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    max_outputs : int
        How many of the batch.
    encoding : str, optional
        "wav".
    description : str, optional
        Shown beside it, as Markdown.

    Returns
    -------
    Tensor
        A bool: whether it was written.

    Raises
    ------
    ValueError
        If the encoding is another one.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    with summary_scope(name, "audio_summary", [data, sample_rate, max_outputs, step]) as (tag, _):
        checks.assert_rank(data, 3)
        checks.assert_non_negative(max_outputs)

        def files():
            sounds = convert_to_tensor(data)[:max_outputs]
            made = _encoded(sounds, lambda x: apply("EncodeWav", [x, sample_rate]), "encode_each_audio")
            return array_ops.stack([made, array_ops.fill(array_ops.shape(made), "")], axis=1)
        return write(tag, files, step, _metadata("audio", description, _WAV))


def text(name: Text, data: TensorLike, step: IntLike | None = None, description: str | None = None) -> Tensor:
    """Writes strings to the default writer, which TensorBoard shows as Markdown, those of a matrix as a table.

    Parameters
    ----------
    name : str
        The tag, below the scopes around.
    data : tensor_like
        Strings of any shape.
    step : int, Variable or Tensor, optional
        That of set_step() by default.
    description : str, optional
        Shown beside it, as Markdown.

    Returns
    -------
    Tensor
        A bool: whether it was written.

    Raises
    ------
    TypeError
        If it has another type.
    """
    with summary_scope(name, "text_summary", [data, step]) as (tag, _):
        data = convert_to_tensor(as_bytes(data) if isinstance(data, str) else data)
        checks.assert_type(data, dtypes.string)
        return write(tag, data, step, _metadata("text", description))
