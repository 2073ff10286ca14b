# SPDX-License-Identifier: Apache-2.0
"""deepctr 0.8.2: DeepFM, DCN and xDeepFM train on numbers, keys and lists of keys."""
import pytest

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    from deepctr.feature_column import DenseFeat, SparseFeat, VarLenSparseFeat, get_feature_names
    from deepctr.models import DCN, DeepFM, xDeepFM
    draw = np.random.RandomState(0)
    count = 64
    data = {"user": draw.randint(0, 20, count), "item": draw.randint(0, 30, count), "price": draw.rand(count).astype(np.float32),
            "genres": draw.randint(0, 6, (count, 4))}
    wanted = ((data["user"] + data["item"]) % 2).astype(np.float32)
    columns = [SparseFeat("user", 20, 4), SparseFeat("item", 30, 4), DenseFeat("price", 1),
               VarLenSparseFeat(SparseFeat("genres", 6, 4), maxlen=4, combiner="mean")]
    def trained(make, **kwargs):
        tf.keras.backend.clear_session()
        model = make(columns, columns, task="binary", **kwargs)
        model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy"])
        seed = np.random.RandomState(1)
        model.set_weights([seed.uniform(-0.3, 0.3, v.shape.as_list()) for v in model.weights])
        inputs = {n: data[n] for n in get_feature_names(columns)}
        losses = model.fit(inputs, wanted, batch_size=16, epochs=3, verbose=0, shuffle=False).history["loss"]
        return [*losses, *model.predict(data, batch_size=64)[:2].ravel()]
    found = [*trained(DeepFM, dnn_hidden_units=(8, 4)), *trained(DCN, dnn_hidden_units=(8,), cross_num=2),
             *trained(xDeepFM, dnn_hidden_units=(8,), cin_layer_size=(8, 4))]
    print(*found)
"""
RECORDED = [  # what TensorFlow 1.15 gives
    0.7400332987308502, 0.7353527545928955, 0.7311345785856247, 0.60042155, 0.5571401, 0.720614567399025, 0.7114999890327454,
    0.7033002972602844, 0.56651384, 0.54188704, 0.7145189791917801, 0.7091565579175949, 0.7043733298778534, 0.56251466,
    0.52775913]


def test_models_train_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4, abs=1e-6)
