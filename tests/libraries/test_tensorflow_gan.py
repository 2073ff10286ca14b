# SPDX-License-Identifier: Apache-2.0
"""tensorflow-gan 1.0.0.dev0: a generator and a discriminator in turn, under a monitored session."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_gan as tfgan
    tf.set_random_seed(1)
    real = tf.random_normal([64, 2], mean=[1., -2.], stddev=0.1)

    def generator(noise):
        return tf.layers.dense(tf.layers.dense(noise, 16, tf.nn.relu), 2)

    def discriminator(data, conditioning):
        return tf.layers.dense(tf.layers.dense(data, 16, tf.nn.relu), 1)
    model = tfgan.gan_model(generator, discriminator, real, tf.random_normal([64, 4]))
    loss = tfgan.gan_loss(model, tfgan.losses.wasserstein_generator_loss, tfgan.losses.wasserstein_discriminator_loss,
                          gradient_penalty_weight=1.0)
    train = tfgan.gan_train_ops(model, loss, tf.train.AdamOptimizer(0.01, 0.5), tf.train.AdamOptimizer(0.01, 0.5))
    tfgan.gan_train(train, "there", hooks=[tf.train.StopAtStepHook(num_steps=150)],
                    get_hooks_fn=tfgan.get_sequential_train_hooks(tfgan.GANTrainSteps(1, 3)))
    with tf.Session() as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint("there"))
        mean = session.run(model.generated_data).mean(0)
        print(np.abs(mean - [1, -2]).max())
"""


def test_a_generator_learns_where_the_data_is(last_number):
    assert last_number(PROGRAM) < 1.0
