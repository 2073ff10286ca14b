# SPDX-License-Identifier: Apache-2.0
"""What a program says of the features in an Example."""
import collections

VarLenFeature = collections.namedtuple("VarLenFeature", ["dtype"])
SparseFeature = collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"], defaults=[False])
FixedLenFeature = collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"], defaults=[None])
FixedLenSequenceFeature = collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"],
                                                 defaults=[False, None])
