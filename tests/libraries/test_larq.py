# SPDX-License-Identifier: Apache-2.0
"""larq 0.8.0: binary and ternary layers train by straight-through gradients, and by Bop, which flips weights."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import larq as lq
    draw = np.random.RandomState(0)
    images = draw.uniform(-1, 1, (32, 8, 8, 2)).astype(np.float32)
    classes = (images[:, :4].mean((1, 2, 3)) > images[:, 4:].mean((1, 2, 3))).astype(np.int32)
    quant = dict(input_quantizer="ste_sign", kernel_quantizer="ste_sign", kernel_constraint="weight_clip", use_bias=False)
    model = tf.keras.models.Sequential([
        lq.layers.QuantConv2D(8, 3, kernel_quantizer="ste_sign", kernel_constraint="weight_clip", use_bias=False,
                              input_shape=(8, 8, 2)),
        tf.keras.layers.BatchNormalization(scale=False),
        lq.layers.QuantDepthwiseConv2D(3, input_quantizer="approx_sign", depthwise_quantizer=lq.quantizers.MagnitudeAwareSign(),
                                       use_bias=False),
        tf.keras.layers.BatchNormalization(scale=False),
        lq.layers.QuantSeparableConv2D(8, 2, input_quantizer="swish_sign", depthwise_quantizer="ste_tern",
                                       pointwise_quantizer="ste_sign", use_bias=False),
        tf.keras.layers.Flatten(),
        lq.layers.QuantDense(2, **quant), tf.keras.layers.Activation("softmax")])
    model.compile(tf.keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    by_name = {v.name: draw.uniform(-0.5, 0.5, v.shape.as_list()) + (0.6 if "variance" in v.name else 0)
               for v in sorted(model.weights, key=lambda v: v.name)}
    model.set_weights([by_name[v.name] for v in model.weights])
    losses = model.fit(images, classes, epochs=4, batch_size=8, verbose=0, shuffle=False).history["loss"]
    bop = tf.keras.models.Sequential([
        lq.layers.QuantDense(4, kernel_quantizer="ste_sign", kernel_constraint="weight_clip", use_bias=False, input_shape=(6,)),
        lq.layers.QuantDense(1, input_quantizer="ste_sign", kernel_quantizer="ste_sign", kernel_constraint="weight_clip",
                             metrics=["flip_ratio"], use_bias=False)])
    bop.compile(lq.optimizers.CaseOptimizer(
        (lq.optimizers.Bop.is_binary_variable, lq.optimizers.Bop(threshold=1e-6, gamma=0.01)),
        default_optimizer=tf.keras.optimizers.Adam(0.01)), "mse")
    bop.set_weights([np.sign(draw.uniform(-0.5, 0.5, w.shape)) for w in bop.get_weights()])
    second = bop.fit(images[:, :6, 0, 0], classes, epochs=3, batch_size=8, verbose=0, shuffle=False).history["loss"]
    print(*losses, *model.predict(images[:2]).ravel(), *second)
"""
RECORDED = [  # what TensorFlow 1.15 gives
    5.4199977815151215, 3.102869912981987, 4.032824754714966, 1.671389862895012, 0.99966466, 0.00033535014, 0.01798621,
    0.98201376, 9.09375, 6.09375, 5.21875]


def test_binary_nets_train_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4, abs=1e-6)
