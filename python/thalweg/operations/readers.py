# SPDX-License-Identifier: Apache-2.0
"""Readers: operations that take names of files from a queue and give records."""
from thalweg.graph.ops import apply


class ReaderBase:
    """What all readers can do."""

    def __init__(self, reader_ref, supports_serialize=False):
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    reader_ref = property(lambda self: self._reader_ref)
    supports_serialize = property(lambda self: self._supports_serialize)

    def read(self, queue, name=None):
        """(key, value) of the next record; the names of files come from the queue."""
        return apply("ReaderReadV2", [self._reader_ref, getattr(queue, "queue_ref", queue)], name=name)

    def read_up_to(self, queue, num_records, name=None):
        """(keys, values) of at most so many records."""
        return apply("ReaderReadUpToV2", [self._reader_ref, getattr(queue, "queue_ref", queue), num_records], name=name)

    def num_records_produced(self, name=None):
        return apply("ReaderNumRecordsProducedV2", [self._reader_ref], name=name)

    def num_work_units_completed(self, name=None):
        return apply("ReaderNumWorkUnitsCompletedV2", [self._reader_ref], name=name)

    def serialize_state(self, name=None):
        return apply("ReaderSerializeStateV2", [self._reader_ref], name=name)

    def restore_state(self, state, name=None):
        return apply("ReaderRestoreStateV2", [self._reader_ref, state], name=name)

    def reset(self, name=None):
        return apply("ReaderResetV2", [self._reader_ref], name=name)


class WholeFileReader(ReaderBase):
    """Each file is a record."""

    def __init__(self, name=None):
        super().__init__(apply("WholeFileReaderV2", [], name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Each line is a record."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__(apply("TextLineReaderV2", [], {"skip_header_lines": skip_header_lines}, name=name))


class FixedLengthRecordReader(ReaderBase):
    """Records of so many bytes."""

    def __init__(self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None, encoding=None):
        attrs = dict(record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes,
                     encoding=encoding)
        super().__init__(apply("FixedLengthRecordReaderV2", [], attrs, name=name))


class TFRecordReader(ReaderBase):
    """Records of TFRecord files."""

    def __init__(self, name=None, options=None):
        super().__init__(apply("TFRecordReaderV2", [], {"compression_type": getattr(options, "compression_type", None)},
                               name=name))


class IdentityReader(ReaderBase):
    """What comes from the queue is the record."""

    def __init__(self, name=None):
        super().__init__(apply("IdentityReaderV2", [], name=name), supports_serialize=True)
