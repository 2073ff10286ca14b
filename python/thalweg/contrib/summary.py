# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.summary: summaries that a step writes itself, where it is asked to: always_record_summaries and the like."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.graph.graph import device
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops
from thalweg.summary import _Scope, writers
from thalweg.summary.writers import SummaryWriter, flush, import_event, initialize, summary_writer_initializer_op  # noqa: F401  (public here)
from thalweg.training.global_steps import get_or_create_global_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from thalweg.base.typing import IntLike, PathLike, TensorLike, Text
    from thalweg.graph.tensor import Operation
    from thalweg.messages import SummaryMetadata
    from thalweg.variables.variables import Variable


def create_file_writer(logdir: PathLike | None, max_queue: IntLike | None = None, flush_millis: IntLike | None = None,
                       filename_suffix: TensorLike | None = None, name: Text | None = None) -> SummaryWriter:
    """A writer of an event file, one for each directory or `name` of a session; it writes nothing where there is no directory."""
    if logdir is None:
        return writers.create_noop_writer()
    logdir = os.fspath(logdir)
    with device("cpu:0"):
        inputs = writers.file_inputs(logdir, max_queue, flush_millis, filename_suffix)
        return writers.ResourceWriter(f"logdir:{logdir}" if name is None else name, ("CreateSummaryFileWriter", inputs))


create_summary_file_writer = create_file_writer
all_summary_ops = writers.all_v2_summary_ops


def create_db_writer(db_uri: Text, experiment_name: Text | None = None, run_name: Text | None = None, user_name: Text | None = None,
                     name: Text | None = None) -> SummaryWriter:
    """A writer of a database, which nothing reads any more: its operation is refused when it runs."""
    with device("cpu:0"):
        inputs = [convert_to_tensor(given or "") for given in (db_uri, experiment_name, run_name, user_name)]
        return writers.ResourceWriter(name, ("CreateSummaryDbWriter", inputs))


def always_record_summaries() -> AbstractContextManager[None]:
    """with always_record_summaries(): all summaries are recorded."""
    return writers.record_if(True)


def never_record_summaries() -> AbstractContextManager[None]:
    """with never_record_summaries(): no summary is recorded."""
    return writers.record_if(False)


def record_summaries_every_n_global_steps(n: IntLike, global_step: Variable | Tensor | None = None) -> AbstractContextManager[None]:
    """with record_summaries_every_n_global_steps(100): summaries are recorded in each hundredth step."""
    step = get_or_create_global_step() if global_step is None else global_step
    with device("cpu:0"):
        return writers.record_if(math_ops.equal(step % n, 0))


def should_record_summaries() -> bool | Tensor:
    """Whether there is a writer and one of the functions above says so: a bool where it is known, else a Tensor."""
    return writers.recording(False)


def _step(step):
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtype=dtypes.int64)


def _recorded(name, tensor, family, step, make: Callable[..., Operation]):
    """Whether the summary was written. `make`: its operation of (handle, step, value, tag, scope)."""
    with _Scope(name, family, [tensor]) as (tag, scope), device("cpu:0"):
        writer = writers.state.writer
        return writers.recorded(lambda: make(writer.resource, _step(step), array_ops.identity(tensor), tag, scope), False, None)


def scalar(name: Text, tensor: TensorLike, family: Text | None = None, step: TensorLike | None = None) -> Tensor:
    """Writes a number to the default writer; gives a bool, whether it did."""
    return _recorded(name, tensor, family, step, lambda writer, at, value, tag, scope: apply(
        "WriteScalarSummary", [writer, at, tag, value], name=scope))


def histogram(name: Text, tensor: TensorLike, family: Text | None = None, step: TensorLike | None = None) -> Tensor:
    """Writes how values are distributed to the default writer; gives a bool, whether it did."""
    return _recorded(name, tensor, family, step, lambda writer, at, value, tag, scope: apply(
        "WriteHistogramSummary", [writer, at, tag, value], name=scope))


def image(name: Text, tensor: TensorLike, bad_color: TensorLike | None = None, max_images: int = 3, family: Text | None = None,
          step: TensorLike | None = None) -> Tensor:
    """Writes images to the default writer, with pixels that are no numbers in `bad_color`, red; gives a bool, whether it did."""
    def make(writer, at, value, tag, scope):
        color = constant([255, 0, 0, 255], dtypes.uint8) if bad_color is None else bad_color
        return apply("WriteImageSummary", [writer, at, tag, value, color], {"max_images": max_images}, name=scope)
    return _recorded(name, tensor, family, step, make)


def audio(name: Text, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int, family: Text | None = None,
          step: TensorLike | None = None) -> Tensor:
    """Writes sounds to the default writer; gives a bool, whether it did."""
    def make(writer, at, value, tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return apply("WriteAudioSummary", [writer, at, tag, value, rate], {"max_outputs": max_outputs}, name=scope)
    return _recorded(name, tensor, family, step, make)


def generic(name: Text, tensor: TensorLike, metadata: SummaryMetadata | TensorLike | None = None, family: Text | None = None,
            step: TensorLike | None = None) -> Tensor:
    """Writes a tensor to the default writer; gives a bool, whether it did."""
    def make(writer, at, value, tag, scope):
        about = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else b"" if metadata is None else metadata
        return apply("WriteSummary", [writer, at, value, tag, about], name=scope)
    return _recorded(name, tensor, family, step, make)


def graph(param: Tensor, step: TensorLike | None = None, name: Text | None = None) -> Operation:
    """An operation that writes a serialized GraphDef to the default writer; initialize() does it once."""
    if not isinstance(param, Tensor):
        raise TypeError(f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}")
    return apply("NoOp", []) if writers.state.writer is None else writers.write_graph(_step(step), param, name)


def eval_dir(model_dir: Text, name: Text | None = None) -> str:
    """The directory for summaries of an evaluation."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


__all__ = ["SummaryWriter", "all_summary_ops", "always_record_summaries", "audio", "create_db_writer", "create_file_writer",
           "create_summary_file_writer", "eval_dir", "flush", "generic", "graph", "histogram", "image", "import_event", "initialize",
           "never_record_summaries", "record_summaries_every_n_global_steps", "scalar", "should_record_summaries",
           "summary_writer_initializer_op"]
names.complete(globals())
