# SPDX-License-Identifier: Apache-2.0
"""matplotlib 3.7.5: pictures of what the debugger tells."""

PROGRAM = """
    import tensorflow as tf
    with tf.Session() as session:
        found = tf.debugging.tensor_statistics(session, tf.sqrt(tf.constant([1.0, 4.0])))
    found.plot("plot.png")
    with open("plot.png", "rb") as plot:
        assert plot.read(4) == b"\\x89PNG"
    print(len(found))
"""


def test_a_plot_of_statistics(last_number):
    assert last_number(PROGRAM) == 2
