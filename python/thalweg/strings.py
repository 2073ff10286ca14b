# SPDX-License-Identifier: Apache-2.0
"""tw.strings: operations on strings."""
from thalweg.base import names
from thalweg.operations.string_ops import split

names.complete(globals())
