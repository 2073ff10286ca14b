# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.datasets.mnist, which is also tensorflow.examples.tutorials.mnist.input_data: pictures of digits, of the four files
of MNIST, which must be there already."""
from __future__ import annotations

import gzip
import math
import zlib
from typing import IO, TYPE_CHECKING

import numpy as np

from thalweg import dtypes, gfile
from thalweg.contrib.learn.datasets.base import Datasets, maybe_download
from thalweg.graph.graph import get_seed

if TYPE_CHECKING:
    from thalweg.base.typing import Array, DTypeLike, PathLike

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_PIXELS = 784  # of a picture


def _read(file: IO[bytes], number: int, dimensions: int, what: str) -> Array:
    """The bytes of a compressed file of the MNIST format; `number` stands at its beginning."""
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            head, values = stream.read(4 * (1 + dimensions)), np.frombuffer(stream.read(), np.uint8)
    except (EOFError, OSError, zlib.error) as error:
        raise type(error)(f"{file.name} is no whole compressed file: {error}") from error
    if len(head) < 4 * (1 + dimensions):
        raise ValueError(f"{file.name} ends within the head of a MNIST {what} file")
    found, *shape = np.frombuffer(head, ">u4").tolist()
    if found != number:
        raise ValueError(f"Invalid magic number {found} in MNIST {what} file: {file.name}")
    if values.size != math.prod(shape):
        raise ValueError(f"{file.name} claims a shape of {shape} and holds {values.size} bytes")
    return values.reshape(shape).copy()


def extract_images(f: IO[bytes]) -> Array:
    """The pictures of a file: uint8 [count, rows, columns, 1]."""
    return _read(f, 2051, 3, "image")[..., None]


def extract_labels(f: IO[bytes], one_hot: bool = False, num_classes: int = 10) -> Array:
    """The labels of a file: uint8 [count]; with `one_hot`, rows of which one element is 1."""
    labels = _read(f, 2049, 1, "label")
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: Array, num_classes: int) -> Array:
    """A row for each label, with a 1 at its place."""
    return np.eye(num_classes)[labels_dense]


class DataSet:
    """Pictures and labels, given out in batches.

    `images` are bytes [count, rows, columns, 1]; with float32 as `dtype` they are scaled to 0 to 1, and with `reshape` they become
    rows of pixels. `seed` is for the order of the batches, which numpy.random gives.
    """

    def __init__(self, images: Array, labels: Array, fake_data: bool = False, one_hot: bool = False, dtype: DTypeLike = dtypes.float32,
                 reshape: bool = True, seed: int | None = None):
        first, second = get_seed(seed)
        np.random.seed(first if seed is None else second)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        if fake_data:
            self._count = 10000
        else:
            assert images.shape[0] == labels.shape[0], f"images.shape: {images.shape} labels.shape: {labels.shape}"
            self._count = images.shape[0]
            if reshape:
                assert images.shape[3] == 1, f"images of {images.shape} have more than one channel"
                images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
            if dtype == dtypes.float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs_completed = self._at = 0

    @property
    def images(self) -> Array:
        return self._images

    @property
    def labels(self) -> Array:
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._count

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def _take(self, most):
        """Up to so many rows from where the last batch ended."""
        begin, self._at = self._at, min(self._at + most, self._count)
        return self._images[begin:self._at], self._labels[begin:self._at]

    def _shuffle(self):
        order = np.arange(self._count)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Array, Array]:
        """The next pictures and labels; where an epoch ends within a batch, the next one begins in it."""
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * _PIXELS for _ in range(batch_size)], [label for _ in range(batch_size)]
        if self._at == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        images, labels = self._take(batch_size)
        if len(images) == batch_size:
            return images, labels
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = 0
        more = self._take(batch_size - len(images))
        return np.concatenate([images, more[0]]), np.concatenate([labels, more[1]])


def read_data_sets(train_dir: PathLike, fake_data: bool = False, one_hot: bool = False, dtype: DTypeLike = dtypes.float32,
                   reshape: bool = True, validation_size: int = 5000, seed: int | None = None,
                   source_url: str = DEFAULT_SOURCE_URL) -> Datasets:
    """The training, validation and test sets of the files in a folder; the first `validation_size` training examples validate.

    Nothing is downloaded: the four files, train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz and those of t10k, must lie in
    `train_dir`. Where one does not, FileNotFoundError says so.
    """
    if fake_data:
        return Datasets(*(DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)))

    def of(part):
        paths = [maybe_download(f"{part}-{kind}-ubyte.gz", train_dir, source_url or DEFAULT_SOURCE_URL) for kind in ("images-idx3", "labels-idx1")]
        with gfile.Open(paths[0], "rb") as images, gfile.Open(paths[1], "rb") as labels:
            return extract_images(images), extract_labels(labels, one_hot)

    (images, labels), test = of("train"), of("t10k")
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")

    def made(part):
        return DataSet(*part, dtype=dtype, reshape=reshape, seed=seed)
    return Datasets(made((images[validation_size:], labels[validation_size:])), made((images[:validation_size], labels[:validation_size])),
                    made(test))


def load_mnist(train_dir: PathLike = "MNIST-data") -> Datasets:
    """read_data_sets of a folder."""
    return read_data_sets(train_dir)
