# SPDX-License-Identifier: Apache-2.0
"""Networks of keras.applications as this very release makes and saves them: applications.py DIRECTORY NAME..., NAME.pb for a frozen graph. Weights
come from a seed, statistics of batch normalization from a batch. NAME becomes a SavedModel, or NAME.pb a GraphDef; NAME.npz holds `image`
and what the whole network, classes and all, says of it, `classes`: of Keras 2 in 1.15, of Keras 3 in 2.21."""
import os
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

OLD = tf.__version__.startswith("1.")
layers, applications = tf.keras.layers, tf.keras.applications
backend = tf.compat.v1.keras.backend
SIDE = 96


def set_all(weights, values):
    """At once: 1.15 adds nodes for each call, and looks through all of its graph again in the next one."""
    values = [v.astype(np.float32) for v in values]
    if OLD:
        backend.batch_set_value(list(zip(weights, values)))
    else:
        for weight, value in zip(weights, values):
            weight.assign(value)


def fill(model, random):
    """Kernels more often positive, so that sums do not leave little but rounding; no gain, shift or statistic that does nothing."""
    values = []
    for layer in model.layers:
        for at, weight in enumerate(layer.weights):
            shape = tuple(int(n) for n in weight.shape)
            if len(shape) > 1:
                taken = np.prod(shape[:2] if "depthwise" in layer.name or "_dw" in layer.name else shape[:-1])
                values.append(random.normal(0.5, 1, shape) / np.sqrt(taken))
            elif isinstance(layer, layers.BatchNormalization):  # gamma, beta, mean, variance
                values.append(random.uniform(0.5, 1.5, shape) if at in (0, 3) else random.normal(0, 0.2, shape))
            else:
                values.append(random.normal(0, 0.1, shape))
    set_all([w for layer in model.layers for w in layer.weights], values)


def reached(model, tensors, image, training):
    """What tensors of a network are for pictures."""
    if OLD:
        return backend.function([model.input, backend.learning_phase()], tensors)([image, training])
    return [np.asarray(value) for value in tf.nest.flatten(tf.keras.Model(model.inputs, tensors)(image, training=training))]


def settle(model, image, random):
    """Statistics of batch normalization by which what reaches it keeps its size, and a last kernel that tells classes apart without being
    sure. Its own mean and variance would leave little but rounding of pictures of noise, which are all alike."""
    found = [layer for layer in model.layers if isinstance(layer, layers.BatchNormalization)]
    statistics = []
    for values in reached(model, [layer.input for layer in found], image, True) if found else ():
        axes = tuple(range(values.ndim - 1))
        mean = values.mean(axes) * random.uniform(0.2, 0.4, values.shape[-1])
        statistics += [mean, ((values - mean) ** 2).mean(axes) + 1e-3]
    set_all([w for layer in found for w in layer.weights[-2:]], statistics)
    last = [layer for layer in model.layers if layer.weights][-1]
    features = reached(model, [last.input], image, False)[0]
    kernel = random.normal(0, 1, tuple(int(n) for n in last.weights[0].shape)) / np.linalg.norm(features[0])
    set_all(last.weights[:1], [kernel])


def write(path, name):
    random = np.random.RandomState(sum(map(ord, name)))
    image = random.rand(2, SIDE, SIDE, 3).astype(np.float32)
    model = getattr(applications, name)(weights=None, input_tensor=tf.keras.Input((SIDE, SIDE, 3), name="image"))
    fill(model, random)
    settle(model, image, random)
    np.savez(path + ".npz", image=image, classes=model.predict(image) if OLD else model(image, training=False))
    return model


def save_old(model, path, frozen):
    session = backend.get_session()
    if not frozen:
        tf.compat.v1.saved_model.simple_save(session, path, {"image": model.input}, {"classes": model.output})
        return
    with session.graph.as_default():
        classes = tf.identity(model.output, "classes")
    graph = tf.compat.v1.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), [classes.op.name])
    with open(path + ".pb", "wb") as f:
        f.write(graph.SerializeToString())


def main(folder, *names):
    for asked in names:
        name, ending = os.path.splitext(asked)
        path = os.path.join(folder, name)
        model = write(path, name)
        if OLD:
            save_old(model, path, ending == ".pb")
        else:
            model.export(path, verbose=False)
        tf.keras.backend.clear_session()


if not OLD:
    tf.keras.utils.disable_interactive_logging()
main(*sys.argv[1:])
