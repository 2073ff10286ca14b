# SPDX-License-Identifier: Apache-2.0
"""A ConfigProto means the same in this process and on a server: where nodes run, what the plan is, what is said about it."""
import os
import re
import threading

import pytest
import thalweg as tf
from thalweg import messages

OFF = messages.RewriterConfig.OFF
CPU0, CPU1 = (f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in (0, 1))


def config_of(**fields):
    return tf.ConfigProto(**fields)


def level_zero():
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)))


def rewriter(**fields):
    config = tf.ConfigProto()
    for name, value in fields.items():
        setattr(config.graph_options.rewrite_options, name, value)
    return config


CONFIGS = {
    "none": lambda: None,
    "empty": tf.ConfigProto,
    "soft": lambda: config_of(allow_soft_placement=True),
    "log": lambda: config_of(log_device_placement=True, allow_soft_placement=True),
    "two": lambda: config_of(device_count={"CPU": 2}, intra_op_parallelism_threads=2),
    "level 0": level_zero,
    "no folding": lambda: rewriter(constant_folding=OFF),
    "no fusing": lambda: rewriter(remapping=OFF, arithmetic_optimization=OFF, layout_optimizer=OFF),
    "no rewriter": lambda: rewriter(disable_meta_optimizer=True),
    "isolated": lambda: config_of(isolate_session_state=True),
    "timeout": lambda: config_of(operation_timeout_in_ms=60000),
    "pools": lambda: config_of(session_inter_op_thread_pool=[messages.ThreadPoolOptionProto(num_threads=2)]),
    "no executor": lambda: config_of(experimental=tf.ConfigProto.Experimental(executor_type="NONE")),
}
DEVICES = ["", "/cpu:0", "/cpu:1", "/gpu:0", "/job:ps", "/job:localhost/task:0/device:GPU:1", "/device:CPU:7", "/task:3"]


@pytest.fixture
def places():
    """Runs a program in this process and on a server of the same configuration."""
    servers = []

    def both(run, config):
        servers.append(tf.train.Server.create_local_server(config=config))
        return run(""), run(servers[-1].target)

    yield both
    for server in servers:
        server.stop()


def what_happens(target, config, device, capfd):
    """Values, placement and plan of a small graph, or its error, and what was written."""
    if config is not None:
        given, config = config, tf.ConfigProto(log_device_placement=True)
        config.MergeFrom(given)
    capfd.readouterr()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device(device):
            y = tf.add(x * 2.0, tf.constant([3.0, 4.0]) + 1.0, name="y")
        z = tf.nn.relu(y * y, name="z")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        try:
            with tf.Session(target, config=config) as session:
                value = session.run(z, {x: [1, 2]}, options=options, run_metadata=metadata).tolist()
        except tf.errors.OpError as error:
            value = type(error).__name__, re.sub(r"^\w+ on grpc://\S+: ", "", error.message)
    plan = [sorted((n.op, n.device) for n in part.node) for part in metadata.partition_graphs]
    return value, plan, capfd.readouterr().err


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CONFIGS)
def test_here_and_there_alike(name, device, places, capfd):
    config = CONFIGS[name]()
    servers_own = None if name == "no executor" else config  # a server refuses it at once
    here, there = places(lambda target: what_happens(target, config, device, capfd), servers_own)
    assert here == there


def run_on(device, target, config=None):
    with tf.Graph().as_default():
        with tf.device(device):
            x = tf.constant(1.0, name="x")
            y = tf.negative(x, name="y")  # this line
        with tf.Session(target, config=config) as session:
            return session.run(y)


def line_of_y():
    with open(__file__, encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.rstrip().endswith("# this line"))


def test_what_is_not_there_is_an_error(places):
    for config in (None, tf.ConfigProto(), tf.ConfigProto(log_device_placement=True)):
        for device in ("/job:ps", "/job:ps/task:3/gpu:0", "/task:3", "/cpu:7", "/device:GPUU:0"):
            def fails(target, config=config, device=device):
                with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation x: ") as error:
                    run_on(device, target, config)
                return str(error.value)
            for message in places(fails, config):
                assert CPU0 in message and f"{os.path.basename(__file__)}:{line_of_y() - 1}" in message, message


def test_a_missing_accelerator_means_the_cpu_and_one_warning(places, capfd):
    def warned(target):
        capfd.readouterr()
        assert run_on("/gpu:1", target) == -1
        return capfd.readouterr().err
    for text in places(warned, None):
        assert text.count("WARNING") == 1 and text.count("\n") == 1, text
        assert "Const 'x'" in text and "GPU:1" in text and f"{os.path.basename(__file__)}:{line_of_y() - 1}" in text


def test_a_config_counts_as_it_says(places, capfd):
    def strict(target):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation x: .*GPU:1"):
            run_on("/gpu:1", target, tf.ConfigProto())
    places(strict, None)

    def soft(target):
        capfd.readouterr()
        assert run_on("/gpu:1", target, tf.ConfigProto(allow_soft_placement=True)) == -1
        assert run_on("/cpu:7", target, tf.ConfigProto(allow_soft_placement=True)) == -1
        assert capfd.readouterr().err == ""
    places(soft, None)


def test_a_servers_own_config_comes_first(capfd):
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(allow_soft_placement=True))
    assert run_on("/cpu:7", server.target) == run_on("/cpu:7", server.target, tf.ConfigProto()) == -1
    assert capfd.readouterr().err == ""
    server.stop()


def test_placement_is_written_as_tensorflow_writes_it(places, capfd):
    config = tf.ConfigProto(log_device_placement=True, device_count={"CPU": 2})

    def written(target):
        capfd.readouterr()
        assert run_on("/cpu:1", target, config) == -1
        return capfd.readouterr().err
    for text in places(written, config):
        assert sorted(re.findall(r"\w+: \(\w+\): \S+", text)) == [f"x: (Const): {CPU1}", f"y: (Neg): {CPU1}"], text


def test_what_has_no_effect_is_named_once(places, capfd):
    config = tf.ConfigProto(placement_period=7, gpu_options=tf.GPUOptions(allow_growth=True))

    def warned(target):
        capfd.readouterr()
        for _ in range(3):
            assert run_on("", target, config) == -1
        return capfd.readouterr().err
    for text in places(warned, None):
        assert text.count("\n") == 1 and "placement_period" in text and "gpu_options.allow_growth" in text, text


def threads():
    return len(os.listdir("/proc/self/task"))


def test_threads_of_a_config_end_with_its_sessions():
    run_on("", "")
    before = threads()
    for count in range(2, 14):
        config = tf.ConfigProto(intra_op_parallelism_threads=count)
        first, second = tf.Session(config=config), tf.Session(config=config)
        assert threads() <= before + count  # of both
        own = tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=count, use_per_session_threads=True))
        assert threads() >= before + 2 * (count - 1)
        for session in (first, second, own):
            session.close()
    assert threads() <= before


@pytest.mark.parametrize("pools", [0, 2])
def test_a_run_chooses_one_of_the_pools_that_there_are(pools):
    named = [messages.ThreadPoolOptionProto(num_threads=1)] * pools
    with tf.Graph().as_default(), tf.Session(config=config_of(session_inter_op_thread_pool=named)) as session:
        answer = tf.constant(42)
        caller = tf.py_func(lambda: threading.get_ident(), [], tf.int64)
        for pool in range(-1, max(1, pools)):
            options = tf.RunOptions(inter_op_thread_pool=pool)
            assert session.run(answer, options=options) == 42
            assert session.make_callable(answer, accept_options=True)(options=options) == 42
        assert session.run(caller, options=tf.RunOptions(inter_op_thread_pool=-1)) == threading.get_ident()
        for pool in (-2, max(1, pools), 7):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"^Invalid inter_op_thread_pool: {pool}; expected"):
                session.run(answer, options=tf.RunOptions(inter_op_thread_pool=pool))


def test_a_server_says_that_its_threads_are_its_own(capfd):
    server = tf.train.Server.create_local_server()
    assert run_on("", server.target, tf.ConfigProto(inter_op_parallelism_threads=3, device_count={"GPU": 0})) == -1
    text = capfd.readouterr().err
    assert "inter_op_parallelism_threads" in text and "device_count" not in text
    server.stop()


@pytest.mark.parametrize("where", ["here", "there"])
def test_passes_are_switched_by_their_names(where):
    """A word with a sign among RewriterConfig.optimizers is meant for the table of passes."""
    def config(*words):
        made = tf.ConfigProto()
        made.graph_options.rewrite_options.optimizers.extend(words)
        return made

    server = tf.train.Server.create_local_server() if where == "there" else None
    target = server.target if server else ""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        twice = tf.sin(x, name="one") + tf.sin(x, name="other")
        for words, nodes in ((), 1), (("-cse", "-fuse_elementwise"), 2), (("-all", "+cse", "layout"), 1):
            metadata = tf.RunMetadata()
            with tf.Session(target, config=config(*words)) as session:
                session.run(twice, {x: 1.0}, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
            sines = [node for graph in metadata.partition_graphs for node in graph.node if node.op == "Sin"]
            assert len(sines) == (0 if not words else nodes), (words, sines)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no pass 'csee'; nearest: 'cse'"):
            with tf.Session(target, config=config("-csee")) as session:
                session.run(twice, {x: 1.0})
