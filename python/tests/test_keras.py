# SPDX-License-Identifier: Apache-2.0
"""tf.keras without the package `keras`: what needs no model works, the rest says what to install. tests/libraries has models."""
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw
from thalweg.base import old_numpy
from thalweg.keras import graph_backend

NEED_KERAS = ["Sequential", "Model", "Input", "layers.Dense", "losses.Huber", "metrics.AUC", "models.load_model"]


def without_keras(program):
    """What a program prints in a process in which Keras is not installed."""
    absent = 'import sys\nsys.modules["keras"] = None\nimport thalweg as tw\nfrom thalweg.keras import loading\n'
    done = subprocess.run([sys.executable, "-c", absent + program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def said():
    """What each name that needs the package says when it is used: {name: message}."""
    lines = without_keras(f"""
for name in {NEED_KERAS}:
    value = tw.keras
    for part in name.split("."):
        value = getattr(value, part)
    try:
        value()
    except NotImplementedError as error:
        print(error)
    else:
        print("nothing")
""").splitlines()
    return dict(zip(NEED_KERAS, lines, strict=True))


@pytest.mark.parametrize("name", NEED_KERAS)
def test_what_needs_the_package_says_so(said, name):
    assert "models of tf.keras need Keras 2.3.1: pip install thalweg[keras]" in said[name]


def test_the_package_is_not_looked_for_before_it_is_needed():
    assert without_keras("""
tw.keras.optimizers.SGD(), tw.keras.layers
assert not any(name.startswith(loading.NAME) for name in sys.modules) and not loading.installed.cache_info().currsize
try:
    loading.module("layers")
except ModuleNotFoundError as error:
    print(error)
""").strip().endswith("pip install thalweg[keras]")


def quadratic():
    x = tw.Variable([1.0, -2.0], use_resource=True)
    return x, tw.reduce_sum(tw.square(x))


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Ftrl"])
def test_optimizers_go_down(name, run):
    x, loss = quadratic()
    optimizer = getattr(tw.keras.optimizers, name)(0.1)
    step = optimizer.minimize(lambda: loss, [x])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        before = session.run(loss)
        for _ in range(5):
            session.run(step)
        assert session.run(loss) < before and session.run(optimizer.iterations) == 5
    again = tw.keras.optimizers.deserialize(tw.keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Ftrl"])
def test_rows_with_a_gradient_are_updated(name):
    """Rows that stand twice count twice, as in the gradient of the whole table."""
    values = []
    for sparse in (True, False):
        with tw.Graph().as_default():
            table = tw.Variable(np.ones((4, 2), "f"), use_resource=True)
            rows = tw.gather(table, [1, 3, 1])
            loss = tw.reduce_sum(tw.square(rows))
            gradient = tw.gradients(loss, [table])[0]
            step = getattr(tw.keras.optimizers, name)(0.1).apply_gradients([(gradient if sparse else tw.convert_to_tensor(gradient), table)])
            with tw.Session() as session:
                session.run(tw.global_variables_initializer())
                session.run(step)
                values.append(session.run(table))
    np.testing.assert_allclose(values[0][[1, 3]], values[1][[1, 3]], rtol=1e-5)
    assert (values[0][[1, 3]] < 1).all() and (values[0][[0, 2]] == 1).all()


def test_hyperparameters_are_variables(run):
    optimizer = tw.keras.optimizers.SGD(lr=0.5)
    x, loss = quadratic()
    step = optimizer.minimize(lambda: loss, [x])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(optimizer.lr.assign(0.25))
        session.run(step)
        assert session.run(x).tolist() == [0.5, -1.0]
    with pytest.raises(TypeError, match="Unexpected keyword argument passed to optimizer: rate"):
        tw.keras.optimizers.SGD(rate=1)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, x)])


def test_schedules():
    schedules = tw.keras.optimizers.schedules
    decay = schedules.ExponentialDecay(1.0, decay_steps=2, decay_rate=0.25)
    x, loss = quadratic()
    optimizer = tw.keras.optimizers.SGD(decay)
    step = optimizer.minimize(lambda: loss, [x])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(step)
        assert session.run(x).tolist() == [-1.0, 2.0]
        session.run(step)
        assert session.run(x).tolist() == [0.0, 0.0]
    assert schedules.deserialize(schedules.serialize(decay)).get_config() == decay.get_config()
    assert tw.keras.optimizers.get(tw.keras.optimizers.serialize(optimizer)).get_config()["learning_rate"]["class_name"] == "ExponentialDecay"
    piecewise = schedules.PiecewiseConstantDecay([1, 3], [1.0, 0.5, 0.25])
    with tw.Session() as session:
        assert session.run([piecewise(tw.constant(s)) for s in (0, 2, 4)]) == [1.0, 0.5, 0.25]


class Halved(tw.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, first):
        self.first = first

    def get_config(self):
        return {"first": self.first}


class Plain(tw.keras.optimizers.SGD):
    @classmethod
    def from_config(cls, config):
        return super().from_config(config)


def test_optimizers_are_made_with_the_objects_that_are_given():
    optimizers, known = tw.keras.optimizers, {"Halved": Halved, "Plain": Plain}
    for kind in (optimizers.SGD, Plain):
        config = optimizers.serialize(kind(Halved(0.25)))
        with pytest.raises(ValueError, match="Unknown (decay: Halved|optimizer: Plain)"):
            optimizers.deserialize(config)
        made = [optimizers.deserialize(config, custom_objects=known)]
        with tw.keras.utils.custom_object_scope(known):
            made += [optimizers.deserialize(config), optimizers.get(config)]
        assert [(type(m), m.learning_rate.first) for m in made] == [(kind, 0.25)] * 3
    schedules = optimizers.schedules
    with tw.keras.utils.custom_object_scope(known):
        assert schedules.deserialize(schedules.serialize(Halved(0.5))).first == 0.5
    assert not tw.keras.utils.get_custom_objects()


def test_a_function_of_the_graph_fetches_what_is_asked_for_now():
    x = tw.placeholder(tw.float32, [])
    function = graph_backend.function([x], [x * 2])
    seen = []
    for more in (x + 1, x + 10):
        function.fetches, function.fetch_callbacks = [more], {more: seen.append}
        assert function([1.0]) == [2.0]
    assert seen == [2.0, 11.0]


def test_the_numpy_of_old_programs_has_its_names():
    old = old_numpy.copy()
    assert (old.Inf, old.string_, old.float_, old.zeros, old.linalg) == (np.inf, np.bytes_, np.float64, np.zeros, np.linalg)
    assert old is not np and old.bool in (bool, np.bool_) and old.asscalar(np.ones(1)) == 1
