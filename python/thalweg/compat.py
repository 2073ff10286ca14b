# SPDX-License-Identifier: Apache-2.0
"""tw.compat: tw.compat.v1 is the package itself; text conversions."""
import sys

v1 = sys.modules["thalweg"]


def as_bytes(text, encoding="utf-8"):
    return text if isinstance(text, bytes) else text.encode(encoding)


def as_text(text, encoding="utf-8"):
    return text if isinstance(text, str) else text.decode(encoding)


as_str = as_str_any = as_text
