# SPDX-License-Identifier: Apache-2.0
"""What programs do where operations run at once: functions, datasets, control flow, optimizers, gradients of their own."""
import numpy as np
import pytest

import thalweg as tf
from thalweg.eager.context import EagerGraph


@pytest.fixture(autouse=True)
def eager():
    with EagerGraph().as_default():
        yield


def test_control_flow_is_pythons():
    x = tf.constant(3.0)
    assert tf.cond(x > 2, lambda: x * 2, lambda: x).numpy() == 6.0
    assert tf.cond(True, lambda: [x], lambda: [x])._id == x._id
    i, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + x), [tf.constant(0), tf.constant(0.0)])
    assert i.numpy() == 5 and total.numpy() == 15.0
    assert tf.case([(x < 2, lambda: tf.constant(1)), (x < 4, lambda: tf.constant(2))], default=lambda: tf.constant(3)).numpy() == 2
    np.testing.assert_array_equal(tf.map_fn(lambda row: row * 2, tf.constant([1, 2, 3])), [2, 4, 6])
    np.testing.assert_array_equal(tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3])), [1, 3, 6])


def test_gradients_through_control_flow_of_python():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        y = x
        while y < 100.0:
            y = y * y
            array = array.write(array.size(), y)
        total = tf.reduce_sum(array.stack())
    np.testing.assert_allclose(tape.gradient(total, x), 2 * 2 + 4 * 2**3 + 8 * 2**7)


def test_tensor_arrays():
    array = tf.TensorArray(tf.int32, 3).write(0, 5).write(1, 6)
    with pytest.raises(tf.errors.OutOfRangeError, match="Tried to write to index 3 but array is not resizeable and size is: 3"):
        array.write(3, 1)
    assert array.read(0).numpy() == 5
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
        array.read(0)
    np.testing.assert_array_equal(tf.TensorArray(tf.float32, 2).unstack([[1.0, 2.0], [3.0, 4.0]]).concat(), [1, 2, 3, 4])


def test_functions_and_gradients_through_them():
    v = tf.Variable(3.0)
    traces = []

    @tf.function
    def f(x):
        traces.append(x)
        return x * x * v

    with tf.GradientTape() as tape:
        x = tf.constant(2.0)
        tape.watch(x)
        y = f(x) + f(x)
    assert y.numpy() == 24.0 and len(traces) == 1
    of_x, of_v = tape.gradient(y, [x, v])
    assert of_x.numpy() == 24.0 and of_v.numpy() == 8.0


def test_functions_train():
    w = tf.Variable([1.0, 2.0])
    optimizer = tf.train.AdamOptimizer(0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w * x - 3.0))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    losses = [step(tf.constant([1.0, 1.0])).numpy() for _ in range(100)]
    assert losses[0] == 5.0 and losses[-1] < 1e-2


def test_functions_make_variables_once():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(lambda: tf.ones([2]) * 3.0)
            return x * self.w
    net = Net()
    np.testing.assert_array_equal(net(tf.constant([1.0, 2.0])), [3, 6])
    net.w.assign([1.0, 1.0])
    np.testing.assert_array_equal(net(tf.constant([1.0, 2.0])), [1, 2])


def test_datasets_are_iterated():
    dataset = tf.data.Dataset.range(5).map(lambda x: x * 2).batch(2)
    assert [batch.numpy().tolist() for batch in dataset] == [[0, 2], [4, 6], [8]]
    offset = tf.constant(10, tf.int64)
    assert [x.numpy() for x in tf.data.Dataset.range(2).map(lambda x: x + offset)] == [10, 11]
    iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
    assert iterator.get_next().numpy().tolist() == [0, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        for _ in range(5):
            iterator.get_next()
    with pytest.raises(RuntimeError, match="make_initializable_iterator is not supported when eager execution is enabled"):
        dataset.make_initializable_iterator()
    pairs = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3.0, 4.0]})
    assert [(p["a"].numpy(), p["b"].numpy()) for p in pairs] == [(1, 3.0), (2, 4.0)]
    assert list(pairs.as_numpy_iterator()) == [{"a": 1, "b": 3.0}, {"a": 2, "b": 4.0}]
    sparse = tf.data.Dataset.from_tensors((tf.sparse.from_dense([0, 1]), "text"))
    (dense, text), = sparse.as_numpy_iterator()
    assert dense.tolist() == [0, 1] and text == b"text"
    with pytest.raises(TypeError, match="not supported for datasets that produce values of type"):
        tf.data.Dataset.range(4).window(2).as_numpy_iterator()


@pytest.mark.parametrize("make", [
    lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.MomentumOptimizer(0.05, 0.9), lambda: tf.train.AdamOptimizer(0.1),
    lambda: tf.train.AdagradOptimizer(0.5), lambda: tf.train.RMSPropOptimizer(0.05), lambda: tf.train.FtrlOptimizer(0.5),
    lambda: tf.train.AdadeltaOptimizer(20.0)])
def test_optimizers(make):
    """The same values as in a graph."""
    start, optimizer = [1.0, -2.0], make()
    w, rows = tf.Variable(start), tf.Variable([[1.0], [2.0], [3.0]])
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    loss = lambda: tf.reduce_sum(tf.square(w - 3.0)) + tf.reduce_sum(tf.square(tf.gather(rows, [0, 2, 0])))
    for _ in range(5):
        optimizer.minimize(loss, global_step=step)
    assert step.numpy() == 5
    with tf.Graph().as_default(), tf.Session() as sess:
        w2, rows2 = tf.Variable(start, use_resource=True), tf.Variable([[1.0], [2.0], [3.0]], use_resource=True)
        train = make().minimize(tf.reduce_sum(tf.square(w2 - 3.0)) + tf.reduce_sum(tf.square(tf.gather(rows2, [0, 2, 0]))))
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            sess.run(train)
        wanted = sess.run([w2, rows2])
    np.testing.assert_allclose(w.numpy(), wanted[0], rtol=1e-5)
    np.testing.assert_allclose(rows.numpy(), wanted[1], rtol=1e-5)


def test_a_loss_is_a_function():
    with pytest.raises(RuntimeError, match="`loss` passed to Optimizer.compute_gradients should be a function when eager execution"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
    with pytest.raises(RuntimeError, match="tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_gradients_of_ones_own():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def clipped(x):
        return x * 10.0, lambda dy: dy * 0.5

    @tf.custom_gradient
    def with_variable(x):
        def back(dy, variables=None):
            assert [w is v for w in variables] == [True]
            return dy * 7.0, [dy * 8.0]
        return x * v, back

    @tf.custom_gradient
    def with_a_number(x):
        return x * 10.0, lambda dy: np.float32(2.0)
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = clipped(x), with_variable(x)
        w = with_a_number(tf.square(x))
    assert y.numpy() == 30.0 and tape.gradient(y, x).numpy() == 0.5
    assert [g.numpy() for g in tape.gradient(z, [x, v])] == [7.0, 8.0] and tape.gradient(w, x).numpy() == 12.0


def test_jacobians():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x), [[2, 0], [0, 4]])
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        y = rows * rows
    np.testing.assert_allclose(tape.batch_jacobian(y, rows), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_seeds():
    """What 1.15 and 2.21 gave."""
    tf.set_random_seed(1)
    np.testing.assert_allclose(tf.random_normal([2]), [-1.1012203, 1.5457517], rtol=1e-6)
    np.testing.assert_allclose(tf.random_uniform([2]), [0.51010704, 0.44353175], rtol=1e-6)
    np.testing.assert_allclose(tf.random.uniform([2], seed=5), [0.195606, 0.02986085], rtol=1e-6)
    np.testing.assert_allclose(tf.random.uniform([2], seed=5), [0.28997242, 0.18651283], rtol=1e-6)


def test_tensors_and_graphs_do_not_mix():
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor without building a function."):
            tf.constant(1.0) + x
        y = tf.constant(1.0)
    with pytest.raises(TypeError, match="An op outside of the function building code is being passed a \"Graph\" tensor"):
        x + y


def test_errors_of_types_are_those_of_1_15():
    x = tf.constant(1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cannot compute Add as input #1\(zero-based\) was expected to be a float tensor "
                       r"but is a int32 tensor \[Op:Add\] name: add"):
        x + tf.constant(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a int32 tensor but is a float tensor"):
        tf.constant(1) + 1.5
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Incompatible shapes: \[3\] vs. \[2\] \[Op:Add\]"):
        tf.constant([1.0, 2.0, 3.0]) + tf.constant([1.0, 2.0])
    with pytest.raises(tf.errors.NotFoundError, match="^Could not find valid device for node.\nNode: {{node Exp}}"):
        tf.exp(tf.constant(1))


def test_variables_and_optimizers_are_saved(tmp_path):
    v, w = tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")
    saver = tf.train.Saver([v, w], max_to_keep=1)
    path = saver.save(None, str(tmp_path / "model"), global_step=7)
    v.assign([5.0, 5.0])
    w.assign(0)
    saver.restore(None, path)
    assert v.numpy().tolist() == [1.0, 2.0] and w.numpy() == 3
    assert [name for name, _ in tf.train.list_variables(path)] == ["v", "w"]
    with tf.Graph().as_default(), tf.Session() as sess:  # a graph reads what was written
        read = tf.Variable([0.0, 0.0], name="v")
        tf.train.Saver([read]).restore(sess, path)
        assert sess.run(read).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="When eager execution is enabled, `var_list` must specify"):
        tf.train.Saver()


def test_get_variable_and_templates():
    first, second = tf.get_variable("w", [2]), tf.get_variable("w", [2])
    assert first is not second and first.name == "w:0"
    with pytest.raises(RuntimeError, match="variable reuse is only supported when an EagerVariableStore is active"):
        with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
            tf.get_variable("w", [2])
    store = tf.contrib.eager.EagerVariableStore()
    with store.as_default():
        assert tf.get_variable("w", [2]) is tf.get_variable("w", [2])
    assert len(store.variables()) == 1
    scaled = tf.make_template("scaled", lambda x: x * tf.get_variable("scale", initializer=2.0))
    assert scaled(tf.constant(3.0)).numpy() == 6.0
    scaled.variables[0].assign(5.0)
    assert scaled(tf.constant(3.0)).numpy() == 15.0


def test_functions_of_gradients():
    tfe = tf.contrib.eager
    assert [g.numpy() for g in tfe.gradients_function(lambda x, y: x * x * y)(3.0, 2.0)] == [12.0, 9.0]
    value, (gradient,) = tfe.value_and_gradients_function(lambda x, y: x * y, params=[1])(3.0, 2.0)
    assert (value.numpy(), gradient.numpy()) == (6.0, 3.0)
    v = tfe.Variable(4.0)
    (gradient, variable), = tfe.implicit_gradients(lambda x: v * x)(5.0)
    assert gradient.numpy() == 5.0 and variable is v
    with pytest.raises(ValueError, match="No trainable variables were accessed"):
        tfe.implicit_value_and_gradients(lambda: tf.constant(1.0))()
    second = tfe.gradients_function(lambda x: tfe.gradients_function(lambda y: y * y * y)(x)[0])
    assert second(2.0)[0].numpy() == 12.0


def test_functions_of_python():
    assert tf.py_func(lambda a: a + 1, [1.0], tf.float32).numpy() == 2.0
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.py_function(lambda a: a * a, [x], tf.float32)
    assert y.numpy() == 9.0 and tape.gradient(y, x).numpy() == 6.0
    with tf.Graph().as_default(), tf.Session() as sess:
        given = tf.placeholder(tf.float32)
        y, z = tf.py_function(lambda a: (a * a if a > 1.0 else a, tf.reduce_sum(a)), [given], [tf.float32, tf.float32])
        assert sess.run([y, z, tf.gradients(y, given)[0]], {given: 3.0}) == [9.0, 3.0, 6.0]


def test_tapes():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * x
    assert tape.gradient(y, x).numpy() == 6.0 and tape.gradient(z, x) is None
    assert tape.gradient(z, x, unconnected_gradients="zero").numpy() == 0.0
    assert tape.gradient(y, x, output_gradients=tf.constant(2.0)).numpy() == 12.0
    v, frozen = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(frozen)
        y = v * frozen
    assert [getattr(g, "numpy", lambda: None)() for g in tape.gradient(y, [v, frozen])] == [None, 1.0]
    with tf.GradientTape() as tape:
        y = v * frozen
    assert tape.watched_variables() == (v,)


def test_a_tape_whose_gradient_was_asked_for_while_it_stood_still_begins_again():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            assert tape.gradient(y, x).numpy() == 6.0
        tape.watch(x)
        z = x * 2.0
    assert tape.gradient(z, x).numpy() == 2.0


def test_many_signatures_do_not_pile_up(monkeypatch):
    from thalweg.eager import context, plans
    monkeypatch.setattr(plans, "_MOST_NODES", 200)
    monkeypatch.setattr(context.shared, "room", None)
    x = tf.constant([1.0, 2.0])
    for i in range(300):
        tf.raw_ops.LeakyRelu(features=x, alpha=i / 1000.0)
    assert context.shared.room.graph._num_nodes() < 300


def test_values_go_with_their_tensors():
    import gc

    from thalweg.graph.environment import environment
    before = tf.constant(0.0)
    context_memory = lambda: environment().memory()[0]
    gc.collect()
    start = context_memory()
    for _ in range(10):
        big = tf.Variable(tf.ones([256, 1024]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(big * 2.0)
        tape.gradient(loss, big)
        del big, tape, loss
    gc.collect()
    assert context_memory() - start < 3 * 2**20 and before is not None


def test_threads_have_tapes_of_their_own():
    import threading
    x, found = tf.constant(2.0), []
    graph = tf.get_default_graph()

    def work(i):
        with graph.as_default():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in range(i):
                    y = y * x
            found.append((i, tape.gradient(y, x).numpy()))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(i, (i + 1) * 2.0**i) for i in range(1, 9)]


def test_one_thread_at_a_time_prepares(monkeypatch):
    """Names and nodes of the hidden graph are counted there."""
    from concurrent.futures import ThreadPoolExecutor

    from thalweg.eager import context, plans
    monkeypatch.setattr(context.shared, "room", None)
    seen = []

    def watched(made):
        def call(*args, **kwargs):
            with ThreadPoolExecutor(1) as other:
                seen.append((made.__name__, other.submit(plans.preparing.acquire, blocking=False).result()))
            return made(*args, **kwargs)
        return call
    monkeypatch.setattr(plans.Room, "prepare", watched(plans.Room.prepare))
    monkeypatch.setattr(plans.gradient_ops, "gradients", watched(plans.gradient_ops.gradients))
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 4.0
    assert ("prepare", False) in seen and ("gradients", False) in seen and not any(free for _, free in seen)


def test_checkpoints_of_objects(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [tf.Variable([1.0, 2.0]), tf.Variable(3.0)]

    def made():
        net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
        return net, optimizer, tf.train.Checkpoint(net=net, optimizer=optimizer, step=tf.Variable(0))
    net, optimizer, checkpoint = made()
    optimizer.minimize(lambda: tf.reduce_sum(net.layers[0] * net.layers[1]))
    checkpoint.step.assign(5)
    path = checkpoint.save(str(tmp_path / "ckpt"))
    assert path.endswith("ckpt-1") and tf.train.latest_checkpoint(str(tmp_path)) == path
    assert "net/layers/0/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE" in [name for name, _ in tf.train.list_variables(path)]
    other, other_optimizer, other_checkpoint = made()
    other_checkpoint.restore(path).assert_consumed()
    np.testing.assert_array_equal(other.layers[0].numpy(), net.layers[0].numpy())
    np.testing.assert_array_equal(other_optimizer.get_slot(other.layers[0], "m").numpy(), optimizer.get_slot(net.layers[0], "m").numpy())
    assert other_checkpoint.step.numpy() == 5 and other_checkpoint.save_counter.numpy() == 1
    for each, optimize in ((net, optimizer), (other, other_optimizer)):  # both go on in the same way
        optimize.minimize(lambda each=each: tf.reduce_sum(each.layers[0] * each.layers[1]))
    np.testing.assert_array_equal(other.layers[0].numpy(), net.layers[0].numpy())
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
        tf.train.Checkpoint(step=tf.Variable(0)).restore(path).assert_consumed()
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path / "kept"), max_to_keep=2)
    paths = [manager.save() for _ in range(3)]
    assert manager.checkpoints == paths[1:] and manager.latest_checkpoint == paths[2]


def test_layers_and_losses():
    layer = tf.layers.Dense(3, activation=tf.nn.relu)
    x = tf.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2))
    with tf.GradientTape() as tape:
        loss = tf.losses.mean_squared_error(tf.zeros([4, 3]), layer(x) + layer(x))
    assert len(layer.trainable_variables) == 2
    assert [g.shape.as_list() for g in tape.gradient(loss, layer.trainable_variables)] == [[2, 3], [3]]
    assert tf.get_collection(tf.GraphKeys.LOSSES) == []


def test_summaries_are_written_at_once(tmp_path):
    writer = tf.contrib.summary.create_file_writer(str(tmp_path))
    step = tf.train.get_or_create_global_step()
    with writer.as_default(), tf.contrib.summary.always_record_summaries():
        for _ in range(2):
            step.assign_add(1)
            tf.contrib.summary.scalar("loss", tf.constant(0.5) * tf.cast(step, tf.float32))
    events = [e for path in tmp_path.iterdir() for e in tf.train.summary_iterator(str(path))]
    assert [(e.step, e.summary.value[0].simple_value) for e in events if e.summary.value] == [(1, 0.5), (2, 1.0)]


def test_sparse_and_printed(capfd):
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    np.testing.assert_array_equal(tf.sparse_tensor_to_dense(sparse), [[0, 1], [2, 0]])
    np.testing.assert_array_equal(tf.sparse_tensor_dense_matmul(sparse, tf.ones([2, 1])), [[1], [2]])
    tf.print("seen", tf.constant([1, 2]))
    assert "seen [1 2]" in capfd.readouterr().err
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        tf.Assert(tf.constant(1) > 2, ["no"])
    with tf.device("/cpu:0"), tf.name_scope("a") as scope:
        assert scope == "a/" and tf.constant(1.0).device == "/job:localhost/replica:0/task:0/device:CPU:0"
    with tf.init_scope():
        assert tf.executing_eagerly()


def test_tables():
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(keys, values), -1)
    other = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(keys, values + 10), -1)
    np.testing.assert_array_equal(table.lookup(tf.constant(["b", "c"])), [2, -1])
    np.testing.assert_array_equal(other.lookup(tf.constant(["b", "c"])), [12, -1])


def test_sessions_run_graphs_of_their_own():
    with tf.Session() as sess:
        assert not tf.executing_eagerly()
        assert sess.run(tf.constant(1.0) + 2.0) == 3.0
    assert tf.executing_eagerly()


def test_measures_are_objects():
    metrics = tf.contrib.eager.metrics
    mean = metrics.Mean()
    mean([1.0, 2.0])
    mean(6.0)
    assert mean.result().numpy() == 3.0
    mean.init_variables()
    mean(4.0, weights=2.0)
    assert mean.result().numpy() == 4.0
    right = metrics.Accuracy()
    right([1, 2, 3, 4], [1, 2, 0, 0])
    sides, largest, numbered = metrics.BinaryAccuracy(0.5), metrics.CategoricalAccuracy(), metrics.SparseAccuracy()
    sides([0.0, 1.0], [0.7, 0.9])
    largest([[0, 1], [1, 0]], [[0.2, 0.8], [0.1, 0.9]])
    numbered([1, 0], [[0.2, 0.8], [0.1, 0.9]])
    assert [m.result().numpy() for m in (right, sides, largest, numbered)] == [0.5, 0.5, 0.5, 0.5]
