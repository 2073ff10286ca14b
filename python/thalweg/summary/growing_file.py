# SPDX-License-Identifier: Apache-2.0
"""An event file that grows by whole records or not at all."""
from __future__ import annotations

import os

from thalweg import _core


class GrowingFile(_core.EventFile):
    """A new event file in a folder, which is made: GrowingFile(folder, suffix)."""

    def is_removed(self) -> bool:
        """Whether somebody has removed it, or moved it away."""
        return not os.path.exists(self.path)
