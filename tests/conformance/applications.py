# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications as this very release makes and saves them: applications.py DIRECTORY NAME... Weights come from a seed,
statistics of batch normalization from a batch. NAME becomes a SavedModel; NAME.npz holds its input
`in.image` and what it gives, `out.features`: of Keras 2 in 1.15, of Keras 3 in 2.21."""
import os
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

OLD = tf.__version__.startswith("1.")
layers, applications = tf.keras.layers, tf.keras.applications
SIDE = 96


def fill(model, random):
    """Kernels more often positive, so that sums do not leave little but rounding; no gain, shift or statistic that does nothing."""
    for layer in model.layers:
        values = []
        for weight in layer.get_weights():
            if weight.ndim > 1:
                taken = np.prod(weight.shape[:2] if "depthwise" in layer.name or "_dw" in layer.name else weight.shape[:-1])
                values.append(random.normal(0.5, 1, weight.shape) / np.sqrt(taken))
            elif isinstance(layer, layers.BatchNormalization):  # gamma, beta, mean, variance
                values.append(random.uniform(0.5, 1.5, weight.shape) if len(values) in (0, 3) else random.normal(0, 0.2, weight.shape))
            else:
                values.append(random.normal(0, 0.1, weight.shape))
        layer.set_weights([v.astype(np.float32) for v in values])


def settle(model, image, random):
    """Statistics of batch normalization by which what reaches it keeps its size. Its own mean and variance would leave little but rounding
    of pictures of noise, which are all alike."""
    found = [layer for layer in model.layers if isinstance(layer, layers.BatchNormalization)]
    inputs = [layer.input for layer in found]
    if OLD:
        backend = tf.compat.v1.keras.backend
        reached = backend.function([model.input, backend.learning_phase()], inputs)([image, True])
    else:
        reached = tf.keras.Model(model.inputs, inputs)(image, training=True)
    for layer, values in zip(found, map(np.asarray, reached)):
        axes = tuple(range(values.ndim - 1))
        mean = values.mean(axes) * random.uniform(0.2, 0.4, values.shape[-1])
        layer.set_weights([*layer.get_weights()[:-2], mean, ((values - mean) ** 2).mean(axes) + 1e-3])


def write(folder, name):
    random = np.random.RandomState(sum(map(ord, name)))
    image = random.rand(2, SIDE, SIDE, 3).astype(np.float32)
    model = getattr(applications, name)(weights=None, include_top=False, pooling="avg", input_shape=(SIDE, SIDE, 3))
    fill(model, random)
    settle(model, image, random)
    features = model.predict(image)
    path = os.path.join(folder, name)
    if OLD:
        session = tf.compat.v1.keras.backend.get_session()
        tf.compat.v1.saved_model.simple_save(session, path, {"image": model.input}, {"features": model.output})
    else:
        archive = tf.keras.export.ExportArchive()
        archive.track(model)
        archive.add_endpoint("serving_default", lambda image: {"features": model(image, training=False)},
                             input_signature=[tf.TensorSpec([None, SIDE, SIDE, 3], tf.float32, "image")])
        archive.write_out(path, verbose=False)
    np.savez(path + ".npz", **{"in.image": image, "out.features": features})
    tf.keras.backend.clear_session()


if not OLD:
    tf.keras.utils.disable_interactive_logging()
for application in sys.argv[2:]:
    write(sys.argv[1], application)
