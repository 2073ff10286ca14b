# SPDX-License-Identifier: Apache-2.0
"""Each test has a default graph of its own."""
import signal

import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as g:
        yield g


@pytest.fixture
def run():
    """run(fetches, feeds) in a session of the test's graph, variables initialized."""
    def go(fetches, feed_dict=None):
        with tw.Session() as sess:
            sess.run(tw.global_variables_initializer())
            return sess.run(fetches, feed_dict)
    return go


@pytest.fixture
def interruptible():
    """Python's own handler: jobs that a shell starts in the background begin with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
