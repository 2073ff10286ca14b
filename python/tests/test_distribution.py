# SPDX-License-Identifier: Apache-2.0
"""Distribution strategies: variables, losses, places and errors as TensorFlow 1.15 has recorded them, and what it leaves open."""
import json
import threading

import distribution_cases as cases
import numpy as np
import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports
from thalweg.eager.context import EagerGraph

RECORDED = cases.recorded()
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


@pytest.mark.parametrize("name", ["training", "contexts", "variables", "with_an_estimator", "measuring"])
def test_as_recorded(name):
    found = json.loads(json.dumps(cases.CASES[name](tf)))
    assert sorted(found) == sorted(RECORDED[name])
    for key, value in found.items():
        assert value == near(value, RECORDED[name][key]), key


def near(value, recorded):
    """What is recorded, or the value itself where its numbers differ by their last digits."""
    if isinstance(value, dict) and isinstance(recorded, dict) and sorted(value) == sorted(recorded):
        return {k: near(v, recorded[k]) for k, v in value.items()}
    if isinstance(value, list) and isinstance(recorded, list) and len(value) == len(recorded):
        return [near(v, r) for v, r in zip(value, recorded)]
    return value if isinstance(value, float) and isinstance(recorded, float) and abs(value - recorded) <= 2e-4 * max(1, abs(recorded)) else recorded


def test_rows_of_a_sparse_gradient_are_those_of_all_replicas():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        table = tf.get_variable("table", initializer=np.zeros((4, 2), np.float32))

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [number, 3]))
            return tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        train = strategy.experimental_run_v2(step)
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        for part in strategy.experimental_local_results(table):
            assert session.run(part)[:, 0].tolist() == [-1, -1, 0, -2]


def test_the_mean_of_rows_is_over_all_replicas():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def rows():
        number = tf.reshape(tf.distribute.get_replica_context().replica_id_in_sync_group, [1])
        return tf.IndexedSlices(tf.constant([[4.0]]), number + 1, tf.constant([3, 1]))
    with strategy.scope():
        each = strategy.experimental_run_v2(rows)
        found = [tf.convert_to_tensor(strategy.reduce(op, each)) for op in (SUM, MEAN)]
    with cases.session(tf) as session:
        assert [value[:, 0].tolist() for value in session.run(found)] == [[0, 4, 4], [0, 2, 2]]


@pytest.mark.parametrize(("op", "expected"), [(tf.distribute.ReduceOp.SUM, [6.0, 12.0]), (tf.distribute.ReduceOp.MEAN, [3.0, 6.0])])
def test_gradients_go_through_an_all_reduce(op, expected):
    """The gradient of a sum over replicas is the sum of theirs, as in 1.15: of y * v where y = sum of v, sum of v for y and once more for v."""
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def step():
        context = tf.distribute.get_replica_context()
        value = tf.constant([1.0, 2.0]) * tf.cast(context.replica_id_in_sync_group + 1, tf.float32)
        found, _ = context.all_reduce(op, [value, value + 1.0])
        return tf.gradients(found * value, value)[0]
    with strategy.scope():
        gradients = strategy.experimental_local_results(strategy.experimental_run_v2(step))
    with cases.session(tf) as session:
        assert [g.tolist() for g in session.run(list(gradients))] == [expected] * 2


@pytest.mark.parametrize(("aggregation", "parts"), [("SUM", [3.0, 3.0]), ("MEAN", [6.0, 6.0])])
def test_a_variable_of_each_replica_is_set_as_a_whole(aggregation, parts):
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        v = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation[aggregation])
    change, given = v.assign(6.0), tf.distribute.get_replica_context
    with strategy.scope():
        own = strategy.experimental_run_v2(lambda: v.assign(tf.cast(given().replica_id_in_sync_group, tf.float32)))
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        session.run(change)
        assert session.run(list(strategy.experimental_local_results(v))) == parts and session.run(v) == v.eval(session) == 6.0
        nodes = len(tf.get_default_graph().get_operations())
        assert session.run(list(strategy.experimental_local_results(own))) == [0.0, 1.0]
        assert session.run(v) == (1.0 if aggregation == "SUM" else 0.5)
        assert len(tf.get_default_graph().get_operations()) == nodes


def test_a_scope_within_itself_makes_each_variable_once():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope(), strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
    assert [part.op.name for part in strategy.experimental_local_results(v)] == ["v", "v/replica_1"]
    with strategy.scope(), pytest.raises(RuntimeError, match="code across replicas; this is the code of one"):
        strategy.experimental_run_v2(lambda: strategy.scope().__enter__())


def test_a_merge_is_behind_what_every_replica_waits_for():
    counts = [tf.Variable(0.0) for _ in cases.TWO]
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def step():
        context = tf.distribute.get_replica_context()
        with tf.control_dependencies([tf.assign_add(counts[context._index], 1.0)]):
            return context.merge_call(lambda strategy: tf.constant(1.0))
    with strategy.scope():
        merged = strategy.experimental_local_results(strategy.experimental_run_v2(step))
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        session.run(merged[0])
        assert session.run(counts) == [1, 1]


def test_what_replicas_have_counted_is_the_same_after_a_checkpoint(tmp_path):
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        made = {name: tf.get_variable(name, initializer=0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=aggregation)
                for name, aggregation in (("sum", tf.VariableAggregation.SUM), ("mean", tf.VariableAggregation.MEAN))}
        saver, merged = tf.train.Saver(made), [v.read_value() for v in made.values()]
    parts = [strategy.experimental_local_results(v) for v in made.values()]
    with cases.session(tf) as session:
        for each in parts:
            for part, value in zip(each, (2.0, 6.0)):
                part.load(value, session)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        assert session.run(merged) == [8, 4] and session.run(parts) == [(4, 4), (4, 4)]


def test_layers_and_scopes_have_the_same_variables_in_every_replica():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def model():
        with tf.variable_scope("outer"):
            first = tf.layers.dense(tf.ones([1, 2]), 3)
            tf.distribute.get_replica_context().merge_call(lambda strategy: None)
            return tf.layers.dense(first, 1)
    with strategy.scope():
        each = strategy.experimental_run_v2(model)
    assert [v.op.name for v in tf.trainable_variables()] == ["outer/dense/kernel", "outer/dense/bias", "outer/dense_1/kernel",
                                                             "outer/dense_1/bias"]
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(strategy.experimental_local_results(each))
        assert first == second


def test_a_replica_that_fails_ends_the_others():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def fails():
        context = tf.distribute.get_replica_context()
        if context._index == 1:
            raise KeyError("the second one")
        context.merge_call(lambda strategy: None)
    with strategy.scope(), pytest.raises(KeyError, match="the second one"):
        strategy.experimental_run_v2(fails)
    assert not tf.distribute.has_strategy()


def test_a_replica_that_is_ended_may_ask_for_a_merge_again():
    strategy, seen = tf.distribute.MirroredStrategy(cases.TWO), []

    def fails():
        context = tf.distribute.get_replica_context()
        if context._index == 1:
            raise KeyError("the second one")
        try:
            context.merge_call(lambda strategy: None)
        finally:
            context.merge_call(lambda strategy: None)

    def run():
        with pytest.raises(KeyError, match="the second one"):
            strategy.experimental_run_v2(fails)
        seen.append("ended")
    caller = threading.Thread(target=run, daemon=True)
    caller.start()
    caller.join(60)
    assert seen == ["ended"]


def test_replicas_that_merge_differently_are_refused():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)

    def differs():
        context = tf.distribute.get_replica_context()
        if context._index == 0:
            context.merge_call(lambda strategy: None)
    with strategy.scope(), pytest.raises(RuntimeError, match="different number"):
        strategy.experimental_run_v2(differs)


def test_reductions_with_an_axis():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        each = strategy.experimental_run_v2(
            lambda: tf.range(tf.distribute.get_replica_context().replica_id_in_sync_group + 1, dtype=tf.int32) + 1)
        made = [strategy.reduce(SUM, each, axis=0), strategy.reduce(MEAN, tf.distribute.get_strategy().experimental_run_v2(lambda: 2.0))]
    with cases.session(tf) as session:
        assert session.run(made[0]) == 1 + 1 + 2
    with strategy.scope(), pytest.raises(ValueError, match="cannot be reduced with the given reduce op"):
        strategy.reduce(SUM, tf.constant(1.0))


def test_a_batch_that_does_not_come_out_even_is_cut():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        iterator = strategy.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(3)).make_initializable_iterator()
        parts = strategy.experimental_local_results(iterator.get_next())
    with cases.session(tf) as session:
        session.run(iterator.initializer)
        assert [[p.tolist() for p in session.run(parts)] for _ in range(2)] == [[[0, 1], [2]], [[3], [4]]]


def test_each_replica_takes_a_batch_of_its_own():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    asked = []
    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(lambda context: asked.append(context) or tf.data.Dataset.range(8).batch(2))
        parts = strategy.experimental_local_results(iterator.get_next())
    assert (asked[0].num_input_pipelines, asked[0].input_pipeline_id, asked[0].num_replicas_in_sync) == (1, 0, 2)
    with cases.session(tf) as session:
        session.run(iterator.initialize())
        assert [[p.tolist() for p in session.run(parts)] for _ in range(2)] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_without_a_strategy():
    context = tf.distribute.get_replica_context()
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1 and context.num_replicas_in_sync == 1
    assert context.merge_call(lambda strategy, x: x + 1, args=(1,)) == 2
    assert not tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()


def test_a_strategy_for_all():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    tf.distribute.experimental_set_strategy(strategy)
    try:
        assert tf.distribute.get_strategy() is strategy and tf.distribute.in_cross_replica_context()
    finally:
        tf.distribute.experimental_set_strategy(None)
    with strategy.scope(), pytest.raises(RuntimeError, match="inside a strategy scope"):
        tf.distribute.experimental_set_strategy(None)


def test_variables_of_a_cluster_are_on_its_parameter_servers():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1", "d:1"]}), task_type="worker", task_id=1)
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    assert strategy.num_replicas_in_sync == 1 and not strategy.extended.should_checkpoint
    with strategy.scope():
        made = [tf.get_variable(name, initializer=1.0) for name in "abc"]
        loss = strategy.experimental_run_v2(lambda: made[0] * 2.0)
    assert [v.device for v in made] == [f"/job:ps/task:{i}/device:CPU:0" for i in (0, 1, 0)]
    assert loss.device == "/job:worker/task:1/device:CPU:0"


def test_slots_lie_beside_their_variables_on_parameter_servers():
    ports = free_ports(3)
    spec = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{port}" for port in ports[:2]], "worker": [f"127.0.0.1:{ports[2]}"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="worker", task_id=0)
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    with strategy.scope():
        made = [tf.get_variable(name, initializer=1.0) for name in "abc"]
        step = tf.train.get_or_create_global_step()
        train = strategy.experimental_run_v2(lambda: tf.train.AdamOptimizer(0.5).minimize(sum(v * v for v in made), step))
    places = {v.op.name: v.device for v in tf.global_variables()}
    assert [places[f"{name}/Adam_1"] for name in "abc"] == [places[name] for name in "abc"] and places["a"] != places["b"]
    servers = [tf.train.Server(spec, job, index) for job, index in (("ps", 0), ("ps", 1), ("worker", 0))]
    try:
        with tf.Session(servers[2].target) as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            assert np.allclose(session.run(made), 0.5) and session.run(step) == 1
    finally:
        for server in servers:
            server.stop()


def test_a_loop_of_the_program_scales_its_own_losses_also_with_the_strategy_of_an_estimator(tmp_path):
    def model_fn(features, labels, mode):
        loss = tf.losses.mean_squared_error(labels, features * tf.get_variable("w", initializer=1.0))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.5).minimize(
            loss, tf.train.get_global_step()))

    def train_in_a_loop():
        with tf.Graph().as_default(), strategy.scope():
            w = tf.get_variable("w", initializer=1.0)
            train = strategy.experimental_run_v2(
                lambda: tf.train.GradientDescentOptimizer(0.125).minimize(tf.losses.mean_squared_error([0.0], [1.0] * w)))
            with cases.session(tf) as session:
                session.run(tf.global_variables_initializer())
                session.run(train)
                return session.run(w)
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=strategy, session_config=tf.ConfigProto(device_count={"CPU": 2}))
    before = train_in_a_loop()
    tf.estimator.Estimator(model_fn, config=config).train(
        lambda: tf.data.Dataset.from_tensor_slices(([[1.0]] * 4, [[0.0]] * 4)).batch(1), steps=1)
    assert before == train_in_a_loop() == 0.5
    assert tf.train.load_variable(str(tmp_path), "w") == 0.0


def test_metrics_of_resource_variables_count_by_class():
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True), tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        value, update = tf.metrics.mean_per_class_accuracy([0, 1, 1, 1], [0, 1, 0, 0], 2)
        with cases.session(tf) as session:
            session.run(tf.local_variables_initializer())
            assert [session.run(update).tolist() for _ in range(2)] == [[1, np.float32(1 / 3)]] * 2
            assert session.run(value) == np.float32(2 / 3)


def test_gradients_are_applied_in_replicas_only():
    with tf.distribute.MirroredStrategy(cases.TWO).scope():
        w = tf.get_variable("w", initializer=1.0)
        with pytest.raises(RuntimeError, match="applied in a replica"):
            tf.train.GradientDescentOptimizer(0.1).minimize(w * w)


def test_what_is_missing_is_said():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec({"ps": ["c:1"], "worker": ["d:1"]}), task_type="worker",
                                                                    task_id=0)
    config = tf.estimator.RunConfig(eval_distribute=tf.distribute.experimental.ParameterServerStrategy(resolver))
    with pytest.raises(NotImplementedError, match="measures in one process: eval_distribute"):
        tf.estimator.Estimator(lambda features: None, config=config).evaluate(lambda: None)
    with EagerGraph().as_default(), tf.distribute.OneDeviceStrategy("/cpu:0").scope(), pytest.raises(NotImplementedError, match="run at once"):
        tf.Variable(1.0)
    with pytest.raises(ValueError, match="Duplicates"):
        tf.distribute.MirroredStrategy(["/cpu:0", "cpu:0"])


def test_names_of_contrib():
    contrib = tf.contrib.distribute
    assert contrib.MirroredStrategy(cases.TWO).num_replicas_in_sync == 2
    config = contrib.DistributeConfig(train_distribute=contrib.OneDeviceStrategy("/cpu:0"))
    assert tf.estimator.RunConfig(experimental_distribute=config).train_distribute is config.train_distribute
    assert contrib.get_replica_context is tf.distribute.get_replica_context and contrib.DistributionStrategy is tf.distribute.Strategy


def test_elements_of_all_parts_change():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    with strategy.scope():
        v = tf.get_variable("v", initializer=np.zeros(4, np.float32))
        changes = [tf.scatter_add(v, [1], [2.0]), v.scatter_nd_update([[2]], [3.0]), v[3].assign(4.0), tf.assign_sub(v, [1.0, 0, 0, 0])]
        with pytest.raises(NotImplementedError, match="in a merge_call"):
            strategy.experimental_run_v2(lambda: tf.scatter_add(v, [1], [2.0]))
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        for change in changes:
            session.run(change)
        assert [session.run(part).tolist() for part in strategy.experimental_local_results(v)] == [[-1, 2, 3, 4]] * 2
        v.load([1.0] * 4, session)
        assert [session.run(part).tolist() for part in strategy.experimental_local_results(v)] == [[1.0] * 4] * 2


def test_moving_averages_are_each_replicas_own():
    strategy = tf.distribute.MirroredStrategy(cases.TWO)
    layer = tf.layers.BatchNormalization(momentum=0.5)

    def step():
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        result = layer.apply(tf.ones([4, 1]) * (number + 1.0), training=True)
        with tf.control_dependencies([tf.group(*layer.updates)]):
            return tf.identity(result)
    with strategy.scope():
        each = strategy.experimental_run_v2(step)
        merged = layer.moving_mean.read_value()
    with cases.session(tf) as session:
        session.run(tf.global_variables_initializer())
        session.run(strategy.experimental_local_results(each))
        assert [session.run(part).tolist() for part in strategy.experimental_local_results(layer.moving_mean)] == [[0.5], [1.0]]
        assert session.run(merged).tolist() == [0.75]
