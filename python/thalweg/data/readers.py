# SPDX-License-Identifier: Apache-2.0
"""Datasets of the lines, records and names of files."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data.dataset import Dataset
from thalweg.data.making import make
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import IntLike, Text
    from thalweg.graph.tensor import Tensor

_TEXT = TensorSpec([], dtypes.string)


def _names(filenames: object) -> Tensor:
    return convert_to_tensor(filenames, dtypes.string)


def _int64(value: IntLike | None, otherwise: int) -> Tensor:
    return convert_to_tensor(otherwise if value is None else value, dtypes.int64)


def _of_files(filenames: object, one: Callable[[object], Dataset], num_parallel_reads: IntLike | None) -> Dataset:
    """The files one after the other, or several in turn."""
    if num_parallel_reads is None:
        return one(_names(filenames))
    names = filenames if isinstance(filenames, Dataset) else Dataset.from_tensor_slices(array_ops.reshape(_names(filenames), [-1]))
    return names.interleave(one, cycle_length=num_parallel_reads, block_length=1, num_parallel_calls=num_parallel_reads)


class _Files(Dataset):
    def __init__(self, dataset: Dataset):
        super().__init__(dataset._variant)
        self._element_spec = _TEXT


class TextLineDataset(_Files):
    """The lines of text files, without their ends.

    Parameters
    ----------
    filenames : str, list of str, string tensor of rank 0 or 1, or Dataset
        The files, read one after the other.
    compression_type : str, optional
        "", "ZLIB" or "GZIP".
    buffer_size : int, optional
        Bytes to read at once.
    num_parallel_reads : int, optional
        Files to read at the same time; their lines come in turn.

    Raises
    ------
    NotFoundError
        In the step that takes an element: there is no such file.

    Examples
    --------
    >>> with open("lines.txt", "w") as f:
    ...     _ = f.write("one\\ntwo\\n")
    >>> line = tw.data.TextLineDataset("lines.txt").make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(line), sess.run(line))
    b'one' b'two'
    """

    def __init__(self, filenames: object, compression_type: Text | None = None, buffer_size: IntLike | None = None,
                 num_parallel_reads: IntLike | None = None):
        def of(names: object) -> Dataset:
            return make("TextLineDataset", [names, convert_to_tensor(compression_type or "", dtypes.string),
                                            _int64(buffer_size, 256 * 1024)], _TEXT, types="")
        super().__init__(_read(filenames, of, num_parallel_reads))


class TFRecordDataset(_Files):
    """The records of TFRecord files, as byte strings; every checksum is checked.

    Parameters
    ----------
    filenames : str, list of str, string tensor of rank 0 or 1, or Dataset
        The files, read one after the other.
    compression_type : str, optional
        "", "ZLIB" or "GZIP".
    buffer_size : int, optional
        Bytes to read at once.
    num_parallel_reads : int, optional
        Files to read at the same time; their records come in turn.

    Raises
    ------
    NotFoundError
        In the step that takes an element: there is no such file. DataLossError: a record is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.tfrecord")
    >>> with tw.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> following = tw.data.TFRecordDataset(path).make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(following), sess.run(following))
    b'one' b'two'
    """

    def __init__(self, filenames: object, compression_type: Text | None = None, buffer_size: IntLike | None = None,
                 num_parallel_reads: IntLike | None = None):
        def of(names: object) -> Dataset:
            return make("TFRecordDataset", [names, convert_to_tensor(compression_type or "", dtypes.string),
                                            _int64(buffer_size, 256 * 1024)], _TEXT, types="")
        super().__init__(_read(filenames, of, num_parallel_reads))


class FixedLengthRecordDataset(_Files):
    """Records of equally many bytes each, between a header and a footer of each file.

    Parameters
    ----------
    filenames : str, list of str, string tensor of rank 0 or 1, or Dataset
        The files, read one after the other.
    record_bytes : int
        Of each record.
    header_bytes, footer_bytes : int, optional
        At the beginning and the end of each file, which are passed over.
    buffer_size : int, optional
        Bytes to read at once.
    compression_type : str, optional
        "", "ZLIB" or "GZIP".
    num_parallel_reads : int, optional
        Files to read at the same time; their records come in turn.
    """

    def __init__(self, filenames: object, record_bytes: IntLike, header_bytes: IntLike | None = None,
                 footer_bytes: IntLike | None = None, buffer_size: IntLike | None = None, compression_type: Text | None = None,
                 num_parallel_reads: IntLike | None = None):
        def of(names: object) -> Dataset:
            return make("FixedLengthRecordDatasetV2",
                        [names, _int64(header_bytes, 0), _int64(record_bytes, 0), _int64(footer_bytes, 0),
                         _int64(buffer_size, 256 * 1024), convert_to_tensor(compression_type or "", dtypes.string)], _TEXT, types="")
        super().__init__(_read(filenames, of, num_parallel_reads))


def _read(filenames: object, of: Callable[[object], Dataset], num_parallel_reads: IntLike | None) -> Dataset:
    if isinstance(filenames, Dataset) and num_parallel_reads is None:
        return filenames.flat_map(of)
    return _of_files(filenames, of, num_parallel_reads)
