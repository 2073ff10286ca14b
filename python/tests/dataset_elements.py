# SPDX-License-Identifier: Apache-2.0
"""For tests: what datasets give."""
import pytest

import thalweg as tf


def elements(dataset, session=None):
    """All elements, by an iterator of their own."""
    following = dataset.make_one_shot_iterator().get_next()
    with (session or tf.Session()) as session:
        return drained(session, following)


def drained(session, following):
    """What steps give until the input ends."""
    given = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            given.append(session.run(following))
    return given
