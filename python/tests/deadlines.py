# SPDX-License-Identifier: Apache-2.0
"""Deadlines of steps whose errors say where they waited."""
import re

import pytest
import thalweg as tw


def says(words, run):
    """Until run(options) says the words (a pattern): on a busy machine a deadline may be over before the step has come to what waits,
    so each is longer than the one before."""
    for milliseconds in (100, 1000, 10000, 60000):
        with pytest.raises(tw.errors.DeadlineExceededError) as raised:
            run(tw.RunOptions(timeout_in_ms=milliseconds))
        if re.search(words, str(raised.value)):
            return
    raise AssertionError(f"no {words!r} in: {raised.value}")
