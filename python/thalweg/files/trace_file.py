# SPDX-License-Identifier: Apache-2.0
"""write_trace and read_trace: RunMetadata messages in files that `thalweg trace` opens."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import _core, errors
from thalweg.messages import RunMetadata

if TYPE_CHECKING:
    from thalweg.base.typing import PathLike


def write_trace(path: PathLike, run_metadata: RunMetadata) -> None:
    """Writes what `Session.run` recorded; the file appears whole, in place of one that was there.

    Parameters
    ----------
    path : str or os.PathLike
        With the ending `.trace` the file is compact, a fraction of the bytes, for `thalweg trace` and `read_trace`; else it is the message.
    run_metadata : RunMetadata
        As `run_metadata=` of `Session.run` was given it, or a step of `record`.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> y, metadata = tw.constant(1.0) + 1.0, tw.RunMetadata()
    >>> with tw.Session() as session:
    ...     value = session.run(y, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), run_metadata=metadata)
    >>> path = os.path.join(tempfile.mkdtemp(), "step.trace")
    >>> tw.debugging.write_trace(path, metadata)
    >>> tw.debugging.read_trace(path) == metadata
    True
    """
    descriptor = getattr(run_metadata, "DESCRIPTOR", None)  # of TensorFlow's own messages, which are recordings too
    if not isinstance(run_metadata, RunMetadata) and getattr(descriptor, "full_name", None) != "tensorflow.RunMetadata":
        raise TypeError(f"expected a RunMetadata, got a {type(run_metadata).__name__}")
    path = os.fsdecode(path)
    recording = run_metadata.SerializeToString()
    if path.endswith(".trace"):
        recording = _core.pack_trace(recording)
    temporary = f"{path}.tmp{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            file.write(recording)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def read_trace(path: PathLike) -> RunMetadata:
    """Reads what was recorded of a step.

    Parameters
    ----------
    path : str or os.PathLike
        A file as `thalweg trace` opens it: a RunMetadata message, also as text, or a compact one, as it is or compressed by gzip.

    Returns
    -------
    RunMetadata
        All of it, byte by byte what was recorded.

    Raises
    ------
    DataLossError
        The file is compact or compressed, and is damaged or ends too early.
    InvalidArgumentError, ValueError
        The file is something else.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "step.trace")
    >>> tw.debugging.write_trace(path, tw.RunMetadata())
    >>> len(tw.debugging.read_trace(path).step_stats.dev_stats)
    0
    """
    with open(path, "rb") as file:
        recording = file.read()
    try:
        return RunMetadata.FromString(_core.unpack_trace(recording))
    except errors.OpError as error:
        raise type(error)(None, None, f"{os.fsdecode(path)}: {error.message}") from None
    except ValueError as error:
        raise ValueError(f"{os.fsdecode(path)}: {error}") from None
