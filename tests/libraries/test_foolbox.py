# SPDX-License-Identifier: Apache-2.0
"""foolbox 2.4.0: its model of a graph, attacks by gradients and by decisions."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import foolbox
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).rand(32, 6).astype(np.float32)
    classes = (rows[:, :3].sum(1) > rows[:, 3:].sum(1)).astype(np.int64)
    x = tf.placeholder(tf.float32, [None, 6])
    logits = tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 2)
    loss = tf.losses.sparse_softmax_cross_entropy(classes, logits)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(120):
            session.run(step, {x: rows})
        model = foolbox.models.TensorFlowModel(x, logits, bounds=(0, 1))
        assert (model.forward(rows).argmax(1) == classes).mean() > 0.95
        for attack in (foolbox.attacks.FGSM(model), foolbox.attacks.LinfinityBasicIterativeAttack(model), foolbox.attacks.DeepFoolAttack(model)):
            others = attack(rows, classes)
            found = ~np.isnan(others).any(1)
            assert (model.forward(others[found]).argmax(1) != classes[found]).mean() > 0.9, attack
        print(found.mean())
"""


def test_attacks_find_other_answers(last_number):
    assert last_number(PROGRAM) > 0.9
