# SPDX-License-Identifier: Apache-2.0
"""Readers: operations that take names of files from a queue and give records."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg import dtypes
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import RunOptions
    from thalweg.operations.data_flow_ops import QueueBase


class ReaderBase:
    """What all readers can do."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    @property
    def reader_ref(self) -> Tensor: return self._reader_ref
    @property
    def supports_serialize(self) -> bool: return self._supports_serialize

    def _has_resource(self) -> bool:
        """Whether the handle is a resource; that of LMDBReader is a reference."""
        return self._reader_ref.dtype.base_dtype == dtypes.resource

    def _apply(self, op: str, inputs: list[object], name: str | None) -> Any:
        return apply(op + ("V2" if self._has_resource() else ""), [self._reader_ref, *inputs], name=name)

    def _queue(self, queue: QueueBase | Tensor) -> Tensor:
        """The queue's handle in the form of the reader's own."""
        handle = getattr(queue, "queue_ref", queue)
        return handle if self._has_resource() else apply("FakeQueue", [handle])

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(key, value) of the next record; the names of files come from the queue."""
        return self._apply("ReaderRead", [self._queue(queue)], name)

    def read_up_to(self, queue: QueueBase | Tensor, num_records: IntLike, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(keys, values) of at most so many records."""
        return self._apply("ReaderReadUpTo", [self._queue(queue), num_records], name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has given, as an int64 scalar."""
        return self._apply("ReaderNumRecordsProduced", [], name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has finished, as an int64 scalar."""
        return self._apply("ReaderNumWorkUnitsCompleted", [], name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader as a string scalar."""
        return self._apply("ReaderSerializeState", [], name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Puts the reader into a state that serialize_state() gave."""
        return self._apply("ReaderRestoreState", [state], name)

    def reset(self, name: str | None = None) -> Operation:
        """The reader starts anew."""
        return self._apply("ReaderReset", [], name)


class WholeFileReader(ReaderBase):
    """Each file is a record."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply("WholeFileReaderV2", [], name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    r"""Reads files line by line.

    Parameters
    ----------
    skip_header_lines : int, optional
        How many lines to pass over where a file begins.
    name : str, optional

    Examples
    --------
    >>> with open("lines.txt", "w") as f:
    ...     _ = f.write("name\nann\nbob\n")
    >>> queue = tw.FIFOQueue(1, tw.string, shapes=[[]])
    >>> key, value = tw.TextLineReader(skip_header_lines=1).read(queue)
    >>> with tw.Session() as sess:
    ...     sess.run(queue.enqueue("lines.txt"))
    ...     print(sess.run([key, value]))
    [b'lines.txt:2', b'ann']
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(apply("TextLineReaderV2", [], {"skip_header_lines": skip_header_lines}, name=name))


class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed number of bytes from files.

    Parameters
    ----------
    record_bytes : int
        The length of a record.
    header_bytes : int, optional
        How many bytes to pass over where a file begins.
    footer_bytes : int, optional
        How many bytes to leave where it ends.
    hop_bytes : int, optional
        From the beginning of one record to that of the next; `record_bytes` unless given.
    name : str, optional
    encoding : str, optional
        "" or "ZLIB".

    Examples
    --------
    >>> with open("data", "wb") as f:
    ...     _ = f.write(b"abcdef")
    >>> queue = tw.FIFOQueue(1, tw.string, shapes=[[]])
    >>> key, value = tw.FixedLengthRecordReader(record_bytes=3).read(queue)
    >>> with tw.Session() as sess:
    ...     sess.run(queue.enqueue("data"))
    ...     print(sess.run(value), sess.run(value))
    b'abc' b'def'
    """

    def __init__(self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
                 hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None) -> None:
        attrs = dict(record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes,
                     encoding=encoding)
        super().__init__(apply("FixedLengthRecordReaderV2", [], attrs, name=name))


class TFRecordReader(ReaderBase):
    """Records of TFRecord files."""

    def __init__(self, name: str | None = None, options: RunOptions | None = None) -> None:
        super().__init__(apply("TFRecordReaderV2", [], {"compression_type": getattr(options, "compression_type", None)},
                               name=name))


class IdentityReader(ReaderBase):
    """What comes from the queue is the record."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply("IdentityReaderV2", [], name=name), supports_serialize=True)


class LMDBReader(ReaderBase):
    """The pairs in LMDB databases, in the order of their keys; the queue gives a database's file, or the folder of its data.mdb.

    Its keys are those of the database, without the file's name.
    """

    def __init__(self, name: str | None = None, options: RunOptions | None = None) -> None:
        del options  # TensorFlow's does not look at them either
        super().__init__(apply("LMDBReader", [], name=name))
