# SPDX-License-Identifier: Apache-2.0
"""tensorflow-graphics 1.0.0: a pose found from points, by gradients through rotations and a camera."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_graphics.geometry.transformation as tfg
    from tensorflow_graphics.rendering.camera import perspective
    points = (np.random.RandomState(0).rand(12, 3) + [0, 0, 3]).astype(np.float32)
    truth = tfg.rotation_matrix_3d.from_euler(tf.constant([0.1, -0.2, 0.3]))
    wanted = tfg.rotation_matrix_3d.rotate(points, truth)
    axis_angle = tf.get_variable("angles", initializer=[0.01, 0.02, 0.03])
    shift = tf.get_variable("shift", initializer=[0., 0., 0.1])
    found = tfg.quaternion.rotate(points, tfg.quaternion.from_euler(axis_angle)) + shift
    pixels = [perspective.project(p, tf.constant([2., 2.]), tf.constant([0.5, 0.5])) for p in (wanted, found)]
    loss = tf.reduce_mean((found - wanted) ** 2) + tf.reduce_mean((pixels[0] - pixels[1]) ** 2)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            session.run(step)
        assert session.run(loss) < 1e-3
        print(session.run(axis_angle)[2])
"""


def test_a_pose_is_found(last_number):
    assert last_number(PROGRAM) == pytest.approx(0.29353145, rel=1e-3)
