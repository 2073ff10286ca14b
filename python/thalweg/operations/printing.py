# SPDX-License-Identifier: Apache-2.0
"""Print and print: values shown while a graph runs."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from thalweg import dtypes, logging
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations.string_ops import string_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Operation


def Print(input_: TensorLike, data: Sequence[TensorLike], message: str | None = None, first_n: int | None = None,
          summarize: int | None = None, name: str | None = None) -> Tensor:
    """Gives its input unchanged, and writes `data` to standard error whenever it is computed.

    Parameters
    ----------
    input_ : tensor_like
    data : list of tensor_like
        What is written.
    message : str, optional
        Comes before the values.
    first_n : int, optional
        Write so many times only; always unless given.
    summarize : int, optional
        How many elements of each tensor are written; 3 unless given.
    name : str, optional

    Returns
    -------
    Tensor
        The same as `input_`. Nothing is written where it is not used.

    Examples
    --------
    >>> x = tw.constant([1.0, 2.0])
    >>> x = tw.Print(x, [tw.reduce_sum(x)], message="sum: ")
    >>> with tw.Session() as sess:
    ...     print(sess.run(x))
    [1. 2.]
    """
    attrs = {"message": message or "", "first_n": -1 if first_n is None else first_n,
             "summarize": 3 if summarize is None else summarize}
    return apply("Print", [input_, list(data)], attrs, name=name)


def _stream(given):
    if given in (None, sys.stderr):
        return "stderr"
    if given is sys.stdout:
        return "stdout"
    if isinstance(given, str):
        if given.startswith("file://") or given in ("stdout", "stderr"):
            return given
    else:
        for level in ("info", "warning", "error"):
            if given is getattr(logging, level, None):
                return f"log({level})"
    raise ValueError(f"Unsupported output stream, logging level, or file.{given}. Supported streams are sys.stdout, sys.stderr, "
                     "tf.logging.info, tf.logging.warning, tf.logging.error. File needs to be in the form of "
                     "'file://<filepath>'.")


def _text(value, tensors):
    """A template for the value; its tensors are appended. Placeholders stand for tensors alone."""
    if isinstance(value, Tensor) or hasattr(value, "_as_tensor"):
        tensors.append(convert_to_tensor(value))
        return _PLACE
    if hasattr(value, "dense_shape"):
        tensors += [value.indices, value.values, value.dense_shape]
        return f"'SparseTensor(indices={_PLACE}, values={_PLACE}, shape={_PLACE})'"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_text(v, tensors)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        inner = ", ".join(_text(v, tensors) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return "[" + ", ".join(_text(v, tensors) for v in value) + "]"
    return repr(value)


_PLACE = "{\0}"  # no text of a program has it


def print_(*inputs: object, **kwargs: object) -> Operation:
    """An operation that writes its inputs when it runs: print(x, "text", output_stream=sys.stdout, summarize=3)."""
    stream = _stream(kwargs.pop("output_stream", None))
    summarize, sep, end, name = (kwargs.pop(k, d) for k, d in (("summarize", 3), ("sep", " "), ("end", "\n"), ("name", None)))
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    summarize = 3 if summarize is None else summarize
    end = "\n" if end is None else end
    if len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].dtype.base_dtype is dtypes.string \
            and inputs[0].shape.ndims == 0:
        text = inputs[0]
    else:
        tensors = []
        template = sep.join(v if isinstance(v, str) else _text(v, tensors) for v in inputs)
        text = string_format(template, tensors, placeholder=_PLACE, summarize=summarize)
    return apply("PrintV2", [text], {"output_stream": stream, "end": end}, name=name)
