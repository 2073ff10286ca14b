# SPDX-License-Identifier: Apache-2.0
"""lucid 0.3.10: an image is optimized, in decorrelated colors and frequencies, until it excites a channel of a frozen net."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from lucid.modelzoo.vision_base import Model
    from lucid.optvis import objectives, param, render, transform
    with tf.Graph().as_default() as graph, tf.Session() as session:
        image = tf.placeholder(tf.float32, [None, 32, 32, 3], name="input")
        filters = np.random.RandomState(0).randn(5, 5, 3, 4).astype(np.float32) * 0.1
        tf.nn.relu(tf.nn.conv2d(image, tf.constant(filters), 2, "SAME"), name="first")
        with open("net.pb", "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())

    class Net(Model):
        model_path = "net.pb"
        image_shape = [32, 32, 3]
        image_value_range = (-1, 1)
        input_name = "input"
    net = Net()
    net.load_graphdef()
    with tf.Graph().as_default(), tf.Session() as session:
        view = render.make_vis_T(net, objectives.channel("first", 1), lambda: param.image(32),
                                 tf.train.AdamOptimizer(0.05), [transform.pad(4), transform.jitter(4)])
        tf.global_variables_initializer().run()
        before = session.run(view("loss"))
        for _ in range(40):
            session.run(view("vis_op"))
        print(session.run(view("loss")) / before)
"""


def test_an_image_excites_a_channel(last_number):
    assert last_number(PROGRAM) > 2
