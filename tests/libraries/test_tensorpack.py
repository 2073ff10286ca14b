# SPDX-License-Identifier: Apache-2.0
"""tensorpack 0.11: its layers and models, a trainer with queues, callbacks, checkpoints and predictors."""

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    from tensorpack import (AutoResumeTrainConfig, BatchData, BatchNorm, Conv2D, DataFromList, FullyConnected, InferenceRunner, MaxPooling,
                            ModelDesc, ModelSaver, OfflinePredictor, PredictConfig, QueueInput, ScalarStats, SimpleTrainer,
                            SmartInit, TrainConfig, argscope, launch_train_with_config)
    from tensorpack.utils import logger
    logger.set_logger_dir("log", action="d")
    images = np.random.RandomState(0).rand(64, 8, 8, 1).astype(np.float32)
    images[:32] *= 0.5
    classes = np.repeat([0, 1], 32).astype(np.int32)

    class Net(ModelDesc):
        def inputs(self):
            return [tf.TensorSpec((None, 8, 8, 1), tf.float32, "image"), tf.TensorSpec((None,), tf.int32, "label")]

        def build_graph(self, image, label):
            net = Conv2D("first", image, 4, 3, activation=tf.nn.relu)
            net = BatchNorm("norm", MaxPooling("pool", net, 2))
            logits = FullyConnected("out", net, 2)
            tf.nn.softmax(logits, name="prob")
            right = tf.cast(tf.nn.in_top_k(logits, label, 1), tf.float32, name="right")
            tf.reduce_mean(right, name="accuracy")
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label), name="loss")

        def optimizer(self):
            return tf.train.AdamOptimizer(tf.get_variable("learning_rate", initializer=0.02, trainable=False))
    batches = BatchData(DataFromList(list(zip(images, classes))), 16)
    launch_train_with_config(TrainConfig(
        model=Net(), data=QueueInput(batches), max_epoch=10, steps_per_epoch=8,
        callbacks=[ModelSaver(), InferenceRunner(BatchData(DataFromList(list(zip(images, classes))), 16, remainder=True),
                                                 ScalarStats(["accuracy", "loss"]))]), SimpleTrainer())
    predict = OfflinePredictor(PredictConfig(model=Net(), session_init=SmartInit(tf.train.latest_checkpoint("log")),
                                             input_names=["image"], output_names=["prob"]))
    print((predict(images)[0].argmax(1) == classes).mean())
"""


def test_a_net_trains_and_predicts(last_number):
    assert last_number(PROGRAM) > 0.9
