# SPDX-License-Identifier: Apache-2.0
"""tw.debugging: assertions and checks of numbers."""
from thalweg.base import names

names.complete(globals())
