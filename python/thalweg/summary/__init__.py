# SPDX-License-Identifier: Apache-2.0
"""Summaries and event files, as TensorBoard reads them: tw.summary."""
import re

from thalweg import dtypes, messages
from thalweg.base import names
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.messages import Event, SessionLog, Summary, SummaryDescription, TaggedRunMetadata


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


def scalar(name, tensor, collections=None, family=None):
    """A summary of one number."""
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(ops.apply("ScalarSummary", [tag, ops.convert_to_tensor(tensor)], name=scope), collections)


def histogram(name, values, collections=None, family=None):
    """A summary of how values are distributed."""
    with _Scope(name, family, [values]) as (tag, scope):
        return _collected(ops.apply("HistogramSummary", [tag, ops.convert_to_tensor(values)], name=scope), collections)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """A summary of the first images of a batch: [batch, rows, columns, 1, 3 or 4]."""
    with _Scope(name, family, [tensor]) as (tag, scope):
        return _collected(ops.apply("ImageSummary", [tag, tensor], {"max_images": max_outputs}, name=scope), collections)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """A summary of the first sounds of a batch: [batch, frames] or [batch, frames, channels], between -1 and 1."""
    with _Scope(name, family, [tensor]) as (tag, scope):
        rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collected(ops.apply("AudioSummaryV2", [tag, tensor, rate], {"max_outputs": max_outputs}, name=scope),
                          collections)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):
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


def text(name, tensor, collections=None):
    """A summary of strings, shown as Markdown."""
    tensor = ops.convert_to_tensor(tensor)
    if tensor.dtype.base_dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}")
    metadata = messages.SummaryMetadata()
    metadata.plugin_data.plugin_name = "text"
    metadata.plugin_data.content = b"{}"
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def merge(inputs, collections=None, name=None):
    """One summary of several."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"merge takes a list of summaries, got {inputs!r}")
    with name_scope(name, "Merge", inputs):
        merged = ops.apply("MergeSummary", [list(inputs)], name=name or "MergeSummary")
    graph.add_to_collections(collections or [], merged)
    return merged


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """One summary of all that were made, or None."""
    found = graph.get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    """The description that a TensorSummary node carries."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Cannot get_summary_description on {node_def.op}")
    description = messages.SummaryDescription()
    description.type_hint = re.sub(r'.*"type_hint": *"([^"]*)".*|.*', r"\1", node_def.attr["description"].s.decode())
    return description


__all__ = ["Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata", "audio", "histogram", "image",
           "merge", "merge_all", "scalar", "tensor_summary", "text"]
names.complete(globals(), {"summary.event_files": "FileWriter FileWriterCache"})
