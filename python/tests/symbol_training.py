# SPDX-License-Identifier: Apache-2.0
"""Cases of training: optimizers, averages, hooks, sessions that prepare themselves, queues: see symbol_cases.py."""
import os
import threading

import numpy as np
from symbol_cases import CASES, SHOWN, fails, numbers
from symbol_saved_model import in_folder

X, WANTED = numbers(6, 3), numbers(6, 2, start=1)


def optimizer(name, make, symbols=""):
    """The variables after a few steps, their slots, and the names of both."""
    def build(tf):
        w = tf.get_variable("w", initializer=tf.constant(numbers(3, 2)))
        table = tf.get_variable("table", initializer=tf.constant(numbers(4, 2, start=2)))
        y = tf.matmul(tf.constant(X), w) + tf.gather(table, [0, 1, 0, 3, 3, 3])
        loss = tf.reduce_mean(tf.square(y - WANTED))
        step = tf.train.get_or_create_global_step()
        o = make(tf)
        pairs = o.compute_gradients(loss)
        train = o.apply_gradients(pairs, global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train)
            values = session.run([w, table, loss, step] + [o.get_slot(v, s) for s in o.get_slot_names() for v in (w, table)])
        return [str(np.asarray(v).round(4).tolist()) for v in values] + sorted(v.name for v in tf.global_variables()) + o.get_slot_names() + [
            o.get_name(), str([v.name for _, v in pairs]), type(pairs[1][0]).__name__, fails(tf, lambda: o.minimize(tf.constant(1.0))),
            fails(tf, lambda: o.apply_gradients([])), fails(tf, lambda: o.apply_gradients([(None, w)])), fails(
                tf, lambda: o.minimize(loss, var_list=[])), len(tf.get_collection(tf.GraphKeys.TRAIN_OP))]
    CASES["train__" + name] = build
    SHOWN["train__" + name] = symbols


optimizer("GradientDescentOptimizer", lambda tf: tf.train.GradientDescentOptimizer(0.1), "train.get_or_create_global_step")
optimizer("AdamOptimizer", lambda tf: tf.train.AdamOptimizer(0.1))
optimizer("MomentumOptimizer", lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True))
optimizer("AdagradOptimizer", lambda tf: tf.train.AdagradOptimizer(0.1))
optimizer("RMSPropOptimizer", lambda tf: tf.train.RMSPropOptimizer(0.1, momentum=0.5))
optimizer("RMSPropOptimizer___centered", lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True))
optimizer("AdadeltaOptimizer", lambda tf: tf.train.AdadeltaOptimizer(0.5))
optimizer("FtrlOptimizer", lambda tf: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01))
optimizer("ProximalAdagradOptimizer", lambda tf: tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.1))


def averages(tf):
    v, step = tf.Variable(4.0, name="v"), tf.Variable(0, trainable=False)
    found = []
    for number in (None, step):
        average = tf.train.ExponentialMovingAverage(0.9, num_updates=number)
        update = average.apply([v])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(v.assign(10.0))
            for _ in range(2):
                session.run(update)
            found += [str(round(float(session.run(average.average(v))), 4))]
        found += [average.average_name(v), str(sorted(average.variables_to_restore([v]))), average.average(v).op.name, str(
            average.average(step))]
    return found + [len(tf.moving_average_variables()), fails(tf, lambda: average.apply([tf.constant([1])]))]


CASES["train__ExponentialMovingAverage"] = averages


@in_folder("train.Scaffold train.NanTensorHook train.SessionRunHook train.SessionRunArgs train.StopAtStepHook train.Supervisor "
           "train.get_global_step train.Coordinator")
def train__MonitoredTrainingSession(tf, folder):  # noqa: N802
    found = []

    class Watch(tf.train.SessionRunHook):
        def begin(self):
            found.append("begin")

        def after_create_session(self, session, coord):
            found.append("created %s" % type(coord).__name__)

        def before_run(self, run_context):
            return tf.train.SessionRunArgs({"step": tf.train.get_global_step()})

        def after_run(self, run_context, run_values):
            found.append(sorted(run_values.results)[0])

        def end(self, session):
            found.append("end %d" % int(session.run(tf.train.get_global_step())))

    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        loss = tf.placeholder_with_default(1.0, [])
        train = tf.assign_add(step, 1)
        with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder, scaffold=tf.train.Scaffold(), log_step_count_steps=None, save_summaries_steps=None, hooks=[
                    tf.train.StopAtStepHook(last_step=3), tf.train.NanTensorHook(loss), Watch()]) as session:
            while not session.should_stop():
                found.append(str(int(session.run(train))))
        found += [str(tf.train.latest_checkpoint(folder)), int(tf.get_default_graph().finalized)]
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, save_checkpoint_secs=None, log_step_count_steps=None,
                                               save_summaries_steps=None) as session:
            found.append(str(int(session.run(step))))
    with tf.Graph().as_default():
        loss = tf.placeholder_with_default(float("nan"), [])
        tf.train.get_or_create_global_step()

        def nan(fail):
            with tf.train.MonitoredTrainingSession(hooks=[tf.train.NanTensorHook(loss, fail_on_nan_loss=fail)]) as session:
                session.run(loss)
                return str(session.should_stop())
        found.append(nan(False))
        try:
            nan(True)
        except tf.train.NanLossDuringTrainingError as error:
            found.append(str(error))
    with tf.Graph().as_default():
        tf.Variable(2.0, name="v")
        supervisor = tf.train.Supervisor(logdir=os.path.join(folder, "sv"), summary_op=None, save_model_secs=0)
        with supervisor.managed_session() as session:
            found += [str(session.run("v:0")), int(supervisor.should_stop())]
            supervisor.request_stop()
            found += [int(supervisor.should_stop())]
    coordinator = tf.train.Coordinator()
    found += [int(coordinator.should_stop())]
    coordinator.request_stop()
    found += [int(coordinator.should_stop()), int(coordinator.wait_for_stop(0.1)), str(coordinator.join([]))]
    return found


@in_folder("train.shuffle_batch train.string_input_producer train.range_input_producer train.slice_input_producer "
           "train.start_queue_runners")
def train__batch(tf, folder):
    paths = [os.path.join(folder, name) for name in ("a.txt", "b.txt")]
    for path, lines in zip(paths, ("one\ntwo\n", "three\n")):
        with open(path, "w") as f:
            f.write(lines)
    found = []

    def run(fetches, times):
        rows = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                for _ in range(times):
                    rows.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                rows.append("the end")
            coordinator.request_stop()
            coordinator.join(threads)
        return rows

    with tf.Graph().as_default():
        names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
        found += [str([r if isinstance(r, str) else os.path.basename(r.decode()) for r in run(names.dequeue(), 5)])]
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
        batch = tf.train.batch([number, tf.cast(number, tf.float32) * 2], 2, allow_smaller_final_batch=True)
        found += [str([r if isinstance(r, str) else [v.tolist() for v in r] for r in run(batch, 5)]), str(batch[0].shape)]
    with tf.Graph().as_default():
        a, b = tf.train.slice_input_producer([[1, 2, 3], ["x", "y", "z"]], num_epochs=1, shuffle=False)
        found += [str([r if isinstance(r, str) else [int(r[0]), r[1].decode()] for r in run([a, b], 4)])]
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        rows = run(tf.train.shuffle_batch([number], 3, capacity=10, min_after_dequeue=2, seed=3), 3)
        found += [str(sorted(sum([r.tolist() for r in rows[:2]], []))), str(rows[2]), tf.train.batch(
            [number], 4, enqueue_many=False).op.type, len(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS))]
    return found


@in_folder("gfile.MakeDirs gfile.Exists gfile.Glob gfile.DeleteRecursively gfile.Remove gfile.Rename io.gfile.exists io.gfile.makedirs "
           "io.gfile.rmtree python.platform python.platform.gfile.GFile python.platform.gfile.Glob compat.as_str "
           "python.util.compat.as_bytes")
def gfile__GFile(tf, folder):  # noqa: N802
    g, path = tf.gfile, os.path.join(folder, "a", "b", "f.txt")
    g.MakeDirs(os.path.dirname(path))
    g.MakeDirs(os.path.dirname(path))
    with g.GFile(path, "w") as f:
        f.write("one\ntwo\n")
    with g.GFile(path, "a") as f:
        f.write("three\n")
    with g.GFile(path) as f:
        found = [f.read(3), str(f.tell()), f.readline(), str(f.readlines()), str(f.size())]
    with g.GFile(path, "rb") as f:
        found += [str(f.read()), str([line for line in g.GFile(path)])]
    g.Copy(path, path + "2")
    found += [str(sorted(g.ListDirectory(os.path.dirname(path)))), str(sorted(g.Glob(path + "*"))), int(g.Exists(path)), int(
        g.IsDirectory(path)), int(tf.io.gfile.exists(folder)), str(g.Stat(path).length), str(sorted(
            [(d, sorted(s), sorted(fs)) for d, s, fs in g.Walk(folder)]))]
    g.Rename(path + "2", path + "3")
    g.Remove(path)
    tf.io.gfile.makedirs(os.path.join(folder, "c", "d"))
    tf.io.gfile.rmtree(os.path.join(folder, "c"))
    found += [str(sorted(os.listdir(os.path.dirname(path)))), fails(tf, lambda: g.Remove(path)), fails(
        tf, lambda: g.GFile(path).read()), fails(tf, lambda: g.Copy(path + "3", path + "3")), fails(
            tf, lambda: g.Rename(path + "9", path)), fails(tf, lambda: g.ListDirectory(path + "9")), fails(
                tf, lambda: g.GFile(path, "w").read())]
    g.DeleteRecursively(os.path.join(folder, "a"))
    return found + [int(g.Exists(path)), tf.compat.as_str(b"a"), str(tf.compat.as_bytes("a")), fails(tf, lambda: tf.compat.as_bytes(
        3)), tf.compat.as_str_any(3)]


@in_folder("test.TestCase compat.v1.logging.DEBUG compat.v1.logging.ERROR compat.v1.logging.FATAL compat.v1.logging.INFO "
           "compat.v1.logging.WARN logging logging.info compat.v1.logging.error logging.INFO")
def logging__set_verbosity(tf, folder):
    log, before = tf.logging, tf.logging.get_verbosity()
    log.set_verbosity(log.ERROR)
    found = [log.DEBUG, log.INFO, log.WARN, log.ERROR, log.FATAL, int(log.get_verbosity() == log.ERROR)]
    log.info("not shown %d", 1)
    log.set_verbosity(before)

    class Case(tf.test.TestCase):
        def runTest(self):  # noqa: N802
            with self.test_session() as session:
                self.assertAllEqual(session.run(tf.constant([1, 2])), [1, 2])
                self.assertAllClose(self.evaluate(tf.constant(1.0)), 1.0 + 1e-8)
            with self.assertRaises(AssertionError):
                self.assertAllClose([1.0], [1.1])
            with self.assertRaises(AssertionError):
                self.assertAllEqual([1.0], [1.0, 2.0])
            self.assertNear(1.0, 1.01, 0.1)
            self.assertShapeEqual(np.ones([2, 3]), tf.ones([2, 3]))
    results = []
    thread = threading.Thread(target=lambda: results.append(Case().run()))  # it clears the default graph of its thread
    thread.start()
    thread.join()
    result = results[0]
    return found + [len(result.failures), len(result.errors), result.testsRun]


@in_folder("summary.FileWriter app.run app.flags flags.FLAGS app.flags.FLAGS flags.DEFINE_boolean flags.DEFINE_float flags.DEFINE_integer "
           "flags.DEFINE_string app.flags.DEFINE_boolean app.flags.DEFINE_integer app.flags.DEFINE_string")
def summary__FileWriter(tf, folder):  # noqa: N802
    with tf.Graph().as_default(), tf.Session() as session:
        tf.summary.scalar("a", tf.constant(2.5))
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(folder, session.graph)
        writer.add_summary(session.run(merged), 7)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="b", simple_value=1.5)]), 8)
        writer.close()
    files = os.listdir(folder)
    events = list(tf.train.summary_iterator(os.path.join(folder, files[0])))
    flags = tf.app.flags
    flags.DEFINE_string("names_text", "default", "A text.")
    flags.DEFINE_integer("names_count", 3, "A number.")
    flags.DEFINE_float("names_rate", 0.5, "A number.")
    flags.DEFINE_boolean("names_on", False, "A switch.")
    found = []

    def main(argv):
        f = tf.flags.FLAGS
        found.extend([str(argv[1:]), f.names_text, f.names_count, str(f.names_rate), str(f.names_on)])
    try:
        tf.app.run(main, ["program", "--names_text=x", "--names_count", "5", "--names_on", "rest"])
    except SystemExit as end:
        found.append(str(end.code))
    for name in ("names_text", "names_count", "names_rate", "names_on"):
        delattr(tf.flags.FLAGS, name)
    return found + [len(files), str([(e.step, [(v.tag, v.simple_value) for v in e.summary.value]) for e in events if e.HasField(
        "summary")]), events[0].file_version, str([e.WhichOneof("what") for e in events])]


@in_folder("python.client.device_lib.list_local_devices contrib.framework.nest.assert_same_structure contrib.framework.nest.is_sequence "
           "contrib.framework.arg_scope compat.v1.add_check_numerics_ops python.ops.lookup_ops.index_table_from_file "
           "python.ops.lookup_ops.index_to_string_table_from_file layers.Dense")
def small_things(tf, folder):
    nest, c = tf.contrib.framework.nest, tf.contrib.framework
    path = os.path.join(folder, "words")
    with open(path, "w") as f:
        f.write("a\nb\n")

    @c.add_arg_scope
    def scoped(x, scale=1.0):
        return x * scale
    with c.arg_scope([scoped], scale=3.0):
        found = [str(scoped(2.0)), str(scoped(2.0, scale=1.0))]
    found += [str(scoped(2.0)), int(nest.is_sequence([1])), int(nest.is_sequence("ab")), fails(tf, lambda: nest.assert_same_structure(
        [1, (2, 3)], [1, (2, 3)])), fails(tf, lambda: nest.assert_same_structure([1, 2], (1, 2))), fails(
            tf, lambda: nest.assert_same_structure([1, 2], (1, 2), check_types=False)), fails(
                tf, lambda: nest.assert_same_structure([1, [2]], [1, 2])), fails(tf, lambda: nest.assert_same_structure(
                    {"a": 1}, {"b": 1})), str(nest.flatten({"b": [1, 2], "a": 3})), str(nest.pack_sequence_as([0, (0,)], [1, 2])),
              fails(tf, lambda: nest.pack_sequence_as([0, 0], [1]))]
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.contrib.lookup.index_table_from_file(path, num_oov_buckets=1)
        texts = tf.contrib.lookup.index_to_string_table_from_file(path, default_value="?")
        checked = tf.add_check_numerics_ops()
        dense = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
        y = dense(tf.ones([1, 3]))
        session.run([tf.tables_initializer(), tf.global_variables_initializer()])
        found += [str(session.run(ids.lookup(tf.constant(["b", "c"]))).tolist()), str(session.run(texts.lookup(
            tf.constant([1, 5], tf.int64))).tolist()), checked.type, str(session.run(y).tolist()), dense.kernel.name,
            str([v.name for v in dense.variables]), str(dense.units)]
    return found
