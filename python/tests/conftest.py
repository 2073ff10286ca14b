# SPDX-License-Identifier: Apache-2.0
"""Each test has a default graph of its own."""
import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as g:
        yield g


@pytest.fixture
def run():
    """run(fetches, feeds) in a session of the test's graph, variables initialised."""
    def go(fetches, feed_dict=None):
        with tw.Session() as sess:
            sess.run(tw.global_variables_initializer())
            return sess.run(fetches, feed_dict)
    return go
