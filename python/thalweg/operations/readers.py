# SPDX-License-Identifier: Apache-2.0
"""Readers: operations that take names of files from a queue and give records."""
from __future__ import annotations

from typing import TYPE_CHECKING

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

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(key, value) of the next record; the names of files come from the queue."""
        return apply("ReaderReadV2", [self._reader_ref, getattr(queue, "queue_ref", queue)], name=name)

    def read_up_to(self, queue: QueueBase | Tensor, num_records: IntLike, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(keys, values) of at most so many records."""
        return apply("ReaderReadUpToV2", [self._reader_ref, getattr(queue, "queue_ref", queue), num_records], name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has given, as an int64 scalar."""
        return apply("ReaderNumRecordsProducedV2", [self._reader_ref], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has finished, as an int64 scalar."""
        return apply("ReaderNumWorkUnitsCompletedV2", [self._reader_ref], name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader as a string scalar."""
        return apply("ReaderSerializeStateV2", [self._reader_ref], name=name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Puts the reader into a state that serialize_state() gave."""
        return apply("ReaderRestoreStateV2", [self._reader_ref, state], name=name)

    def reset(self, name: str | None = None) -> Operation:
        """The reader starts anew."""
        return apply("ReaderResetV2", [self._reader_ref], name=name)


class WholeFileReader(ReaderBase):
    """Each file is a record."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply("WholeFileReaderV2", [], name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Each line is a record."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(apply("TextLineReaderV2", [], {"skip_header_lines": skip_header_lines}, name=name))


class FixedLengthRecordReader(ReaderBase):
    """Records of so many bytes."""

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
