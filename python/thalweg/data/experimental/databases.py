# SPDX-License-Identifier: Apache-2.0
"""Datasets of the rows of databases."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest
from thalweg.data.dataset import Dataset
from thalweg.data.making import make
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from thalweg.base.typing import Text


class SqlDataset(Dataset):
    """The rows that a query gives.

    Parameters
    ----------
    driver_name : str or string scalar
        "sqlite", the only one.
    data_source_name : str or string scalar
        The file of the database, which is only read.
    query : str or string scalar
        In SQL.
    output_types : tuple of DType
        Of the columns: strings, integers, bool, float64. What is null becomes zero, False or the empty string.

    Examples
    --------
    >>> import os, sqlite3, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     path = os.path.join(folder, "people.db")
    ...     with sqlite3.connect(path) as database:
    ...         _ = database.execute("CREATE TABLE people (name TEXT, age INTEGER)")
    ...         _ = database.execute("INSERT INTO people VALUES ('Ada', 36)")
    ...     rows = tw.data.experimental.SqlDataset("sqlite", path, "SELECT name, age FROM people", (tw.string, tw.int32))
    ...     name, age = sess.run(rows.make_one_shot_iterator().get_next())
    ...     print(name.decode(), age)
    Ada 36
    """

    def __init__(self, driver_name: Text, data_source_name: Text, query: Text, output_types: object):
        spec = nest.map_structure(lambda t: TensorSpec([], dtypes.as_dtype(t)), output_types)
        rows = make("SqlDataset", [convert_to_tensor(t, dtypes.string) for t in (driver_name, data_source_name, query)], spec)
        super().__init__(rows._variant)
        self._element_spec = spec
