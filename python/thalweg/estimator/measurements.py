# SPDX-License-Identifier: Apache-2.0
"""What evaluate() has written into event files."""
from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from thalweg.summary.event_files import summary_iterator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thalweg.base.typing import PathLike


def measured(directory: PathLike, pattern: str) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, {name: value}) of each summary with numbers in the event files below a directory, file by file."""
    for path in sorted(glob.glob(os.path.join(glob.escape(os.fspath(directory)), pattern))):
        for event in summary_iterator(path):
            values = {v.tag: v.simple_value for v in event.summary.value if v.WhichOneof("value") == "simple_value"}
            if values:
                yield event.step, values
