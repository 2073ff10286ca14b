# SPDX-License-Identifier: Apache-2.0
"""What is asked of savers that programs have wrapped: those may know nothing of writing in the background."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.saving.saver import Saver


def is_saving(saver: Saver) -> bool:
    """Whether it still writes."""
    return getattr(saver, "is_saving", False)


def wait_for(saver: Saver) -> None:
    """Waits until it writes no more."""
    if hasattr(saver, "wait"):
        saver.wait()
