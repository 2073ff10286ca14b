# SPDX-License-Identifier: Apache-2.0
"""Datasets of the records of CSV files."""
from __future__ import annotations

import collections
import csv
import gzip
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, gfile
from thalweg.control.type_specs import TensorSpec
from thalweg.data.dataset import AUTOTUNE, Dataset
from thalweg.data.making import make
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from thalweg.base.typing import IntLike, Text
    from thalweg.graph.tensor import Tensor

_FIELDS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_BUFFER = 4 << 20


def _default(value: object) -> Tensor:
    """What a missing field is; a type alone: it must not be missing."""
    if isinstance(value, dtypes.DType):
        _check_type(value)
        return convert_to_tensor(np.zeros([0], object if value == dtypes.string else value.as_numpy_dtype), value)
    tensor = convert_to_tensor(value)
    _check_type(tensor.dtype)
    if tensor.shape.ndims not in (None, 0) and (tensor.shape.ndims > 1 or tensor.shape.as_list()[0] not in (None, 0, 1)):
        raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return tensor


def _check_type(dtype: dtypes.DType) -> None:
    if dtype not in _FIELDS:
        raise TypeError(f"Value passed to parameter 'record_defaults' has DataType {dtype.name} not in list of allowed values: "
                        f"{', '.join(t.name for t in _FIELDS)}")


class CsvDataset(Dataset):
    """The records of CSV files: a tuple of a number or a text for each field.

    Parameters
    ----------
    filenames : str, list of str, or string tensor
        The files, read one after the other.
    record_defaults : list
        For each field what it is where it is missing, or its type alone: then it must be there.
    compression_type : str, optional
        "", "ZLIB" or "GZIP".
    buffer_size : int, optional
        Bytes to read at once.
    header : bool
        The first record of each file holds names.
    field_delim : str
        Between fields.
    use_quote_delim : bool
        Fields may be quoted.
    na_value : str
        A field of this text is missing.
    select_cols : list of int, optional
        The fields that count, in ascending order.

    Examples
    --------
    >>> with open("measured.csv", "w") as file:
    ...     _ = file.write("1,2.5\\n3,\\n")
    >>> records = tw.data.experimental.CsvDataset("measured.csv", [tw.int32, 0.5])
    >>> following = records.make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print([tuple(float(x) for x in sess.run(following)) for _ in range(2)])
    [(1.0, 2.5), (3.0, 0.5)]
    """

    def __init__(self, filenames: object, record_defaults: Sequence[object], compression_type: Text | None = None,
                 buffer_size: IntLike | None = None, header: bool = False, field_delim: Text = ",", use_quote_delim: bool = True,
                 na_value: Text = "", select_cols: Sequence[int] | None = None):
        defaults = [_default(value) for value in record_defaults]
        spec = tuple(TensorSpec([], d.dtype) for d in defaults)
        made = make("CSVDataset",
                    [convert_to_tensor(filenames, dtypes.string), convert_to_tensor(compression_type or "", dtypes.string),
                     convert_to_tensor(_BUFFER if buffer_size is None else buffer_size, dtypes.int64),
                     convert_to_tensor(header, dtypes.bool), convert_to_tensor(field_delim, dtypes.string),
                     convert_to_tensor(use_quote_delim, dtypes.bool), convert_to_tensor(na_value, dtypes.string),
                     convert_to_tensor(np.asarray(select_cols if select_cols is not None else [], np.int64)), defaults], spec)
        super().__init__(made._variant)
        self._element_spec = spec


def _names_of(file_pattern: object) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    names = [name for pattern in patterns for name in gfile.Glob(pattern)]
    if not names:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    return sorted(names)


class _Text:
    """How the text of the files is to be read, to learn what is in it."""

    def __init__(self, names: Sequence[str], delimiter: str, quotes: bool, encoding: str, compression: str):
        self.names, self.delimiter, self.encoding, self.compression = names, delimiter, encoding, compression
        self.quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE

    def records(self, name: str) -> Iterator[list[str]]:
        if self.compression not in ("", "GZIP"):
            raise ValueError(f"Files of `compression_type` {self.compression} cannot be looked at for their columns: give "
                             "`column_names` and `column_defaults`, or compress them with GZIP.")
        reading = gzip.open if self.compression else open
        with reading(name, "rt", newline="", encoding=self.encoding) as file:
            yield from csv.reader(file, delimiter=self.delimiter, quoting=self.quoting)

    def header(self) -> list[str]:
        """The names of the columns, which must be the same in all files."""
        first = next(self.records(self.names[0]), None)
        if first is None:
            raise ValueError(f"Received StopIteration when reading the header line of {self.names[0]}. Empty file?")
        for name in self.names[1:]:
            if next(self.records(name), None) != first:
                raise ValueError("All input CSV files must have the same column names in the header row. File "
                                 f"{name} has different column names.")
        return first

    def body(self, header: bool) -> Iterator[list[str]]:
        """The records of all files."""
        for name in self.names:
            records = self.records(name)
            if header:
                next(records, None)
            yield from records


def _narrowest(text: str, missing: str, before: dtypes.DType | None) -> dtypes.DType | None:
    """The first type, not before `before`, of which the text is; None while nobody knows."""
    if text in ("", missing):
        return before
    kinds = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string]
    return next(k for k in kinds[kinds.index(before) if before is not None else 0:] if _is_of(text, k))


def _is_of(text: str, kind: dtypes.DType) -> bool:
    if kind == dtypes.string:
        return True
    try:
        value = int(text) if kind in (dtypes.int32, dtypes.int64) else float(text)
    except ValueError:
        return False
    limits = (np.iinfo if isinstance(value, int) else np.finfo)(kind.as_numpy_dtype)
    # As in TensorFlow, infinity and what is no number are text.
    return limits.min <= value <= limits.max if isinstance(value, int) else float(limits.min) < value < float(limits.max)


def _inferred(records: Iterable[list[str]], columns: Sequence[int], count: int, missing: str, most: int | None) -> list[object]:
    """A default for each of the columns, of the type that its fields in the first records have."""
    kinds: list[dtypes.DType | None] = [None] * len(columns)
    for i, record in enumerate(records):
        if most is not None and i >= most:
            break
        if len(record) != count:
            raise ValueError(f"Problem inferring types: CSV row {i + 1} has {len(record)} number of fields. Expected: {count}.")
        for at, column in enumerate(columns):
            kinds[at] = _narrowest(record[column], missing, kinds[at])
    return ["" if kind in (None, dtypes.string) else np.zeros([], kind.as_numpy_dtype) for kind in kinds]


def _selected(names: Sequence[str], select_columns: Sequence[object] | None) -> list[int]:
    """The numbers of the columns that count."""
    if select_columns is None:
        return list(range(len(names)))
    numbers = []
    for column in select_columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"Column {column} specified in `select_columns` must be of one of the columns: {list(names)}.")
            numbers.append(names.index(column))
        else:
            if not 0 <= column < len(names):
                raise ValueError(f"Column index {column} specified in `select_columns` should be > 0  and <= {len(names)}")
            numbers.append(int(column))
    if len(set(numbers)) != len(numbers):
        raise ValueError("`select_columns` contains duplicate columns")
    return numbers


def make_csv_dataset(file_pattern: object, batch_size: IntLike, column_names: Sequence[str] | None = None,
                     column_defaults: Sequence[object] | None = None, label_name: str | None = None,
                     select_columns: Sequence[object] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
                     na_value: str = "", header: bool = True, num_epochs: int | None = None, shuffle: bool = True,
                     shuffle_buffer_size: int = 10000, shuffle_seed: int | None = None, prefetch_buffer_size: int | None = None,
                     num_parallel_reads: int | None = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
                     compression_type: str | None = None, ignore_errors: bool = False, encoding: str = "utf-8") -> Dataset:
    """Batches of the records of CSV files, as dictionaries by column; with `label_name`, pairs of one and that column.

    Types that nobody gives are those of the first `num_rows_for_inference` records. Files are read when this is called, for the
    names in their headers and for the types.
    """
    files = _names_of(file_pattern)
    text = _Text(files, field_delim, use_quote_delim, encoding, compression_type or "")
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = text.header()
    if len(set(column_names)) != len(column_names):
        twice = {name for name in column_names if list(column_names).count(name) > 1}
        raise ValueError(f"Either `column_names` argument or CSV header row contains duplicate column names: {twice}.")
    columns = _selected(column_names, select_columns)
    if column_defaults is not None and len(column_defaults) != len(columns):
        raise ValueError(f"`column_defaults` must be as many as the columns, {len(columns)}, got {len(column_defaults)}")
    defaults = list(column_defaults) if column_defaults is not None else _inferred(
        text.body(header), columns, len(column_names), na_value, num_rows_for_inference)
    columns, defaults = zip(*sorted(zip(columns, defaults), key=lambda pair: pair[0]))
    names = [column_names[i] for i in columns]
    if label_name is not None and label_name not in names:
        raise ValueError(f"`label_name` provided must be one of the columns: {names}. Received: {label_name}.")

    def records(name: Tensor) -> Dataset:
        read = CsvDataset(name, defaults, compression_type, header=header, field_delim=field_delim, use_quote_delim=use_quote_delim,
                          na_value=na_value, select_cols=columns if select_columns is not None else None)
        return read._made("IgnoreErrorsDataset", []) if ignore_errors else read

    def by_name(*fields: Tensor) -> object:
        features = collections.OrderedDict(zip(names, fields))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label
    dataset = Dataset.from_tensor_slices(files)
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    dataset = dataset.interleave(records, cycle_length=num_parallel_reads or 1, block_length=1)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    # Without end every batch is whole, and its size is known.
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(by_name)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
