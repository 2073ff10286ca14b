# SPDX-License-Identifier: Apache-2.0
"""Summaries and event files, as TensorBoard reads them: tw.summary."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.base import names
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.messages import Event, SessionLog, Summary, SummaryDescription, TaggedRunMetadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import NodeDef, SummaryMetadata


class _Scope:
    """(tag, scope) of a summary: its name is unique in the graph, and the tag is made of it."""

    def __init__(self, name, family, values):
        def clean(text):
            return re.sub(r"[^-/\w.]", "_", text).lstrip("/")
        name = clean(name)
        self._family = None if family is None else clean(family)
        self._names = name_scope(name if family is None else f"{self._family}/{name}", None, values)

    def __enter__(self):
        scope = self._names.__enter__()
        tag = scope.rstrip("/")
        return (tag if self._family is None else f"{self._family}/{tag}"), scope

    def __exit__(self, *error):
        self._names.__exit__(*error)


def _collected(summary, collections):
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


def scalar(name: str, tensor: TensorLike, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Parameters
    ----------
    name : str
        The tag, below the scope's name.
    tensor : tensor_like
        A scalar of a real type.
    collections : list of str, optional
        Collections to join; that of merge_all() by default.
    family : str, optional
        Stands before the tag, and groups what TensorBoard shows.

    Returns
    -------
    Tensor
        A string scalar: a serialized Summary.

    Raises
    ------
    InvalidArgumentError
        In the step: `tensor` is no scalar.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     value = tw.Summary.FromString(sess.run(tw.summary.scalar("loss", 0.5))).value[0]
    ...     print(value.tag, value.simple_value)
    loss 0.5
    """
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(ops.apply("ScalarSummary", [tag, ops.convert_to_tensor(tensor)], name=scope), collections)


def histogram(name: str, values: TensorLike, collections: Sequence[str] | None = None, family: str | None = None) -> Tensor:
    """A summary of how values are distributed.

    Parameters
    ----------
    name : str
        The tag, below the scope's name.
    values : tensor_like
        Of a real type and any shape.
    collections : list of str, optional
        Collections to join; that of merge_all() by default.
    family : str, optional
        Stands before the tag, and groups what TensorBoard shows.

    Returns
    -------
    Tensor
        A string scalar: a serialized Summary.

    Raises
    ------
    InvalidArgumentError
        When it runs, if a value is infinite or NaN.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     value = tw.Summary.FromString(sess.run(tw.summary.histogram("weights", [1.0, 2.0, 6.0]))).value[0]
    ...     print(value.tag, value.histo.num, value.histo.sum)
    weights 3.0 9.0
    """
    with _Scope(name, family, [values]) as (tag, scope):
        return _collected(ops.apply("HistogramSummary", [tag, ops.convert_to_tensor(values)], name=scope), collections)


def image(name: str, tensor: TensorLike, max_outputs: int = 3, collections: Sequence[str] | None = None,
          family: str | None = None) -> Tensor:
    """A summary of the first images of a batch.

    Parameters
    ----------
    name : str
        The tag, below the scope's name.
    tensor : tensor_like
        Of shape [batch, height, width, channels] with 1, 3 or 4 channels, uint8 or float32. Floats of an image are scaled to
        0 ... 255.
    max_outputs : int
        How many images.
    collections : list of str, optional
        Collections to join; that of merge_all() by default.
    family : str, optional
        Stands before the tag, and groups what TensorBoard shows.

    Returns
    -------
    Tensor
        A string scalar: a serialized Summary with PNG files.

    Raises
    ------
    ValueError
        If the rank of `tensor` is not 4.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     made = tw.summary.image("digit", tw.zeros([5, 2, 3, 1]), max_outputs=2)
    ...     value = tw.Summary.FromString(sess.run(made)).value
    ...     print([v.tag for v in value], value[0].image.height, value[0].image.width)
    ['digit/image/0', 'digit/image/1'] 2 3
    """
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(ops.apply("ImageSummary", [tag, tensor], {"max_images": max_outputs}, name=scope), collections)


def audio(name: str, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int = 3, collections: Sequence[str] | None = None,
          family: str | None = None) -> Tensor:
    """A summary of the first sounds of a batch: [batch, frames] or [batch, frames, channels], between -1 and 1."""
    with _Scope(name, family, [tensor]) as (tag, scope):
        rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collected(ops.apply("AudioSummaryV2", [tag, tensor, rate], {"max_outputs": max_outputs}, name=scope),
                          collections)


def tensor_summary(name: str, tensor: TensorLike, summary_description: str | None = None,
                   collections: Sequence[str] | None = None, summary_metadata: SummaryMetadata | None = None,
                   family: str | None = None, display_name: str | None = None) -> Tensor:
    """A summary with a whole tensor."""
    metadata = messages.SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(ops.apply("TensorSummaryV2", [tag, tensor, metadata.SerializeToString()], name=scope), collections)


def text(name: str, tensor: TensorLike, collections: Sequence[str] | None = None) -> Tensor:
    """A summary of strings, shown as Markdown."""
    tensor = ops.convert_to_tensor(tensor)
    if tensor.dtype.base_dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}")
    metadata = messages.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def merge(inputs: Sequence[TensorLike], collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """One summary of several.

    Parameters
    ----------
    inputs : list of Tensor
        Serialized summaries, string scalars.
    collections : list of str, optional
        Collections that the summary joins; none by default.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        A string scalar: a serialized Summary.

    Raises
    ------
    TypeError
        If `inputs` is no list.
    InvalidArgumentError
        When it runs, if two summaries have the same tag.

    Examples
    --------
    >>> merged = tw.summary.merge([tw.summary.scalar("loss", 0.5), tw.summary.scalar("rate", 0.1)])
    >>> with tw.Session() as sess:
    ...     [v.tag for v in tw.Summary.FromString(sess.run(merged)).value]
    ['loss', 'rate']
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"merge takes a list of summaries, got {inputs!r}")
    with name_scope(name, "Merge", inputs):
        merged = ops.apply("MergeSummary", [list(inputs)], name=name or "MergeSummary")
    graph.add_to_collections(collections or [], merged)
    return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """One summary of all that were made.

    Parameters
    ----------
    key : str
        The collection of the summaries.
    scope : str, optional
        Begins the names of those that are wanted; a regular expression.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor or None
        A string scalar: a serialized Summary. None where there are no summaries.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(tw.summary.merge_all())
    ...     made = tw.summary.scalar("loss", 0.5), tw.summary.scalar("rate", 0.1)
    ...     merged = tw.Summary.FromString(sess.run(tw.summary.merge_all()))
    ...     print([v.tag for v in merged.value])
    None
    ['loss', 'rate']
    """
    found = graph.get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def: NodeDef) -> SummaryDescription:
    """The description that a TensorSummary node carries."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Cannot get_summary_description on {node_def.op}")
    description = messages.SummaryDescription()
    description.type_hint = re.sub(r'.*"type_hint": *"([^"]*)".*|.*', r"\1", node_def.attr["description"].s.decode())
    return description


__all__ = ["Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata", "audio", "histogram", "image",
           "merge", "merge_all", "scalar", "tensor_summary", "text"]
names.complete(globals(), {"summary.event_files": "FileWriter FileWriterCache", "summary.writers": "all_v2_summary_ops initialize"})
