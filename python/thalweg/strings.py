# SPDX-License-Identifier: Apache-2.0
"""tw.strings: operations on strings."""
from thalweg.base import names
from thalweg.operations.string_ops import split, string_format as format  # noqa: F401  (as 1.15 calls it)

names.complete(globals(), {
    "ragged.text": "unicode_decode unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets"})
