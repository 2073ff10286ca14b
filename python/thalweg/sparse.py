# SPDX-License-Identifier: Apache-2.0
"""tw.sparse: tensors that are mostly zeros."""
from thalweg.base import names
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue  # noqa: F401  (public here as well)
from thalweg.graph.tensor import IndexedSlicesValue  # noqa: F401

names.complete(globals(), {
    "operations.sparse_ops": "cross=sparse_cross cross_hashed=sparse_cross_hashed expand_dims=sparse_expand_dims eye=sparse_eye "
                             "from_dense=sparse_from_dense mask=sparse_mask"})
