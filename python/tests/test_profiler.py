# SPDX-License-Identifier: Apache-2.0
"""tf.profiler: parameters, float operations, times; its counts are what TensorFlow 1.15 gives, or ought to (A6)."""
import numpy as np
import pytest
import thalweg as tf
from thalweg.profiler import model_analyzer

BUILDER = tf.profiler.ProfileOptionBuilder


def of(*shape):
    return tf.placeholder(tf.float32, list(shape))


def conv(stride, padding):
    return {"strides": [1, stride, stride, 1], "padding": padding}


def pool(stride, padding):
    return {"ksize": [1, 3, 2, 1], **conv(stride, padding)}


# What 1.15 counts: an operation, its inputs and attributes. 1.15 takes no account of AddV2 and BatchMatMulV2, forgets adj_x, and
# guesses gradients of convolutions by their inputs' sizes and strides: these are counted as their forward forms.
COUNTS = {
    **{(kind, 24): lambda kind=kind: getattr(tf.raw_ops, kind)(x=of(2, 3, 4), y=of(3, 4))
       for kind in "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow Greater GreaterEqual Less LessEqual Equal NotEqual".split()},
    **{(kind, 24): lambda kind=kind: getattr(tf.raw_ops, kind)(x=of(2, 3, 4)) for kind in "Reciprocal Square Neg Log".split()},
    ("SquaredDifference", 48): lambda: tf.raw_ops.SquaredDifference(x=of(2, 3, 4), y=of(3, 4)),
    ("Rsqrt", 48): lambda: tf.raw_ops.Rsqrt(x=of(2, 3, 4)),
    ("RsqrtGrad", 140): lambda: tf.raw_ops.RsqrtGrad(y=of(5, 7), dy=of(5, 7)),
    ("Softmax", 175): lambda: tf.raw_ops.Softmax(logits=of(5, 7)),
    ("L2Loss", 104): lambda: tf.raw_ops.L2Loss(t=of(5, 7)),
    ("Sum", 60): lambda: tf.raw_ops.Sum(input=of(5, 7, 2), axis=[1]),
    ("Sum", 69): lambda: tf.raw_ops.Sum(input=of(5, 7, 2), axis=[0, 1, 2]),
    ("Mean", 70): lambda: tf.raw_ops.Mean(input=of(5, 7, 2), axis=[1]),
    ("ArgMax", 60): lambda: tf.raw_ops.ArgMax(input=of(5, 7, 2), dimension=1),
    ("AddN", 70): lambda: tf.raw_ops.AddN(inputs=[of(5, 7)] * 3),
    ("MatMul", 210): lambda: tf.raw_ops.MatMul(a=of(7, 5), b=of(3, 7), transpose_a=True, transpose_b=True),
    ("BatchMatMul", 420): lambda: tf.raw_ops.BatchMatMul(x=of(2, 7, 5), y=of(2, 3, 7), adj_x=True, adj_y=True),
    ("BatchMatMulV2", 420): lambda: tf.raw_ops.BatchMatMulV2(x=of(2, 5, 7), y=of(7, 3)),
    ("BiasAdd", 35): lambda: tf.raw_ops.BiasAdd(value=of(5, 7), bias=of(7)),
    ("BiasAddGrad", 63): lambda: tf.raw_ops.BiasAddGrad(out_backprop=of(2, 5, 7)),
    ("Conv2D", 25920): lambda: tf.raw_ops.Conv2D(input=of(2, 9, 8, 3), filter=of(3, 2, 3, 5), **conv(1, "SAME")),
    ("Conv2D", 5760): lambda: tf.raw_ops.Conv2D(input=of(2, 9, 8, 3), filter=of(3, 2, 3, 5), **conv(2, "VALID")),
    ("Conv2DBackpropInput", 25920): lambda: tf.raw_ops.Conv2DBackpropInput(
        input_sizes=[2, 9, 8, 3], filter=of(3, 2, 3, 5), out_backprop=of(2, 9, 8, 5), **conv(1, "SAME")),
    ("Conv2DBackpropFilter", 25920): lambda: tf.raw_ops.Conv2DBackpropFilter(
        input=of(2, 9, 8, 3), filter_sizes=[3, 2, 3, 5], out_backprop=of(2, 9, 8, 5), **conv(1, "SAME")),
    ("Conv2DBackpropInput", 5760): lambda: tf.raw_ops.Conv2DBackpropInput(
        input_sizes=[2, 9, 8, 3], filter=of(3, 2, 3, 5), out_backprop=of(2, 4, 4, 5), **conv(2, "VALID")),
    ("Conv2DBackpropFilter", 5760): lambda: tf.raw_ops.Conv2DBackpropFilter(
        input=of(2, 9, 8, 3), filter_sizes=[3, 2, 3, 5], out_backprop=of(2, 4, 4, 5), **conv(2, "VALID")),
    ("Conv3D", 18432): lambda: tf.raw_ops.Conv3D(input=of(2, 5, 9, 8, 3), filter=of(2, 3, 2, 3, 4), strides=[1, 2, 2, 2, 1],
                                                 padding="VALID"),
    ("DepthwiseConv2dNative", 20736): lambda: tf.raw_ops.DepthwiseConv2dNative(
        input=of(2, 9, 8, 3), filter=of(3, 2, 3, 4), **conv(1, "SAME")),
    ("Dilation2D", 1152): lambda: tf.raw_ops.Dilation2D(input=of(2, 9, 8, 3), filter=of(3, 2, 3), rates=[1, 1, 1, 1], **conv(2, "VALID")),
    ("MaxPool", 576): lambda: tf.raw_ops.MaxPool(input=of(2, 9, 8, 3), **pool(2, "VALID")),
    ("AvgPool", 2592): lambda: tf.raw_ops.AvgPool(value=of(2, 9, 8, 3), **pool(1, "SAME")),
    ("MaxPoolGrad", 672): lambda: tf.raw_ops.MaxPoolGrad(orig_input=of(2, 9, 8, 3), orig_output=of(2, 4, 4, 3), grad=of(2, 4, 4, 3),
                                                         **pool(2, "VALID")),
    ("AvgPoolGrad", 1152): lambda: tf.raw_ops.AvgPoolGrad(orig_input_shape=[2, 9, 8, 3], grad=of(2, 4, 4, 3), **pool(2, "VALID")),
}


@pytest.mark.parametrize("case", COUNTS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_float_operations(case):
    kind, count = case
    with tf.Graph().as_default() as graph:
        COUNTS[case]()
        root = tf.profiler.profile(graph, cmd="op", options=BUILDER(BUILDER.float_operation()).with_empty_output().build())
    assert [(kind, count)] == [(made.name, made.float_ops) for made in root.children]
    assert root.total_float_ops == count


def net():
    x = tf.placeholder(tf.float32, [4, 8, 8, 3], name="x")
    with tf.variable_scope("net"):
        w, b = tf.get_variable("w", [3, 3, 3, 5]), tf.get_variable("b", [5])
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), b))
        with tf.variable_scope("dense"):
            k, c = tf.get_variable("k", [320, 10]), tf.get_variable("c", [10], trainable=False)
            y = tf.matmul(tf.reshape(h, [4, 320]), k) + c
    return x, y


def test_parameters_by_scope(capsys):
    with tf.Graph().as_default() as graph:
        net()
        root = tf.profiler.profile(graph)
        assert root.total_parameters == 3340 and root.parameters == 0
        assert capsys.readouterr().out == """node name | # parameters
_TFProfRoot (--/3.34k params)
  net (--/3.34k params)
    net/b (5, 5/5 params)
    net/dense (--/3.20k params)
      net/dense/k (320x10, 3.20k/3.20k params)
    net/w (3x3x3x5, 135/135 params)
"""
        tf.profiler.profile(graph, options=BUILDER(BUILDER.trainable_variables_parameter()).with_max_depth(1).build())
        assert capsys.readouterr().out.splitlines()[1:] == ["_TFProfRoot (--/3.34k params)", "  net (--/3.34k params)"]
        tf.profiler.profile(graph, options=BUILDER(BUILDER.trainable_variables_parameter()).with_max_depth(0).build())
        assert capsys.readouterr().out.splitlines()[1:] == ["_TFProfRoot (--/3.34k params)"]
        hidden = BUILDER(BUILDER.trainable_variables_parameter()).with_node_names(hide_name_regexes=["net/dense/k"])
        assert tf.profiler.profile(graph, options=hidden.with_empty_output().build()).total_parameters == 140
        hidden.account_displayed_op_only(False)
        assert tf.profiler.profile(graph, options=hidden.build()).total_parameters == 3340
        assert capsys.readouterr().out == ""


def traced(trace_level=tf.RunOptions.FULL_TRACE):
    x, y = net()
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.ones([4, 8, 8, 3])}, options=tf.RunOptions(trace_level=trace_level), run_metadata=metadata)
    return metadata


def test_times_by_kind_and_line(tmp_path):
    with tf.Graph().as_default() as graph:
        metadata = traced()
        spent = sum(run.op_end_rel_micros - run.op_start_rel_micros for device in metadata.step_stats.dev_stats
                    for run in device.node_stats)
        options = BUILDER(BUILDER.time_and_memory(min_micros=0, min_bytes=0)).with_file_output(str(tmp_path / "profile.txt")).build()
        for cmd in ("op", "scope"):
            assert tf.profiler.profile(graph, metadata, cmd=cmd, options=options).total_exec_micros == spent
            text = (tmp_path / "profile.txt").read_text()
            assert "MatMul" in text and text.startswith("node name | requested bytes | total execution time\n")
        lines = tf.profiler.profile(graph, metadata, cmd="code", options=options)
        assert all("test_profiler.py" in line.name for line in lines.children) and len(lines.children) > 3


def lasting(metadata, micros):
    """The step, each node of which takes so long."""
    step = tf.RunMetadata.FromString(metadata.SerializeToString())
    for device in step.step_stats.dev_stats:
        for run in device.node_stats:
            run.op_end_rel_micros = run.op_start_rel_micros + micros
    return step


def test_bytes_that_no_step_has_are_told(monkeypatch):
    said = []
    monkeypatch.setattr(model_analyzer.logging, "log_first_n", lambda level, text, n: said.append((text, n)))
    with tf.Graph().as_default() as graph:
        whole = traced()
        metadata = tf.RunMetadata.FromString(whole.SerializeToString())
        for run in (run for device in metadata.step_stats.dev_stats for run in device.node_stats):
            for field in ("memory", "output", "memory_stats"):
                run.ClearField(field)
        tf.profiler.profile(graph, metadata, cmd="op", options=BUILDER().with_empty_output().build())
        options = BUILDER(BUILDER.time_and_memory()).with_empty_output().build()
        tf.profiler.profile(graph, cmd="op", options=options)
        assert said == [], "neither where no bytes are selected nor without steps"
        tf.profiler.profile(graph, metadata, cmd="op", options=options)
        assert said == [("Bytes are shown as 0: no traced step tells of memory.", 1)]
        metadata.step_stats.dev_stats[0].node_stats[0].memory.add(total_bytes=16)
        assert tf.profiler.profile(graph, metadata, cmd="op", options=options).total_requested_bytes == 16
        assert tf.profiler.profile(graph, whole, cmd="op", options=options).total_requested_bytes > 16
        assert len(said) == 1


def test_several_steps_are_their_mean():
    with tf.Graph().as_default() as graph:
        metadata = traced()
        runs = sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)
        profiler = tf.profiler.Profiler(graph)
        options = BUILDER(BUILDER.time_and_memory()).with_empty_output()
        profiler.add_step(1, lasting(metadata, 1000))
        assert profiler.profile_operations(options.build()).total_exec_micros == 1000 * runs
        profiler.add_step(2, lasting(metadata, 3000))
        assert profiler.profile_operations(options.build()).total_exec_micros == 2000 * runs
        assert profiler.profile_name_scope(options.with_step(1).build()).total_exec_micros == 1000 * runs


def test_shapes_that_are_not_known_are_not_counted():
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.placeholder(tf.float32, [None, 3]), tf.zeros([3, 4]))
        options = BUILDER(BUILDER.float_operation()).with_empty_output().build()
        assert tf.profiler.profile(graph, options=options).total_float_ops == 0


def test_what_is_wrong_is_said():
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="cmd is one of scope, op, code; got 'lines'"):
            tf.profiler.profile(graph, cmd="lines")
        with pytest.raises(ValueError, match="order_by is one of name, .*; got 'size'"):
            tf.profiler.profile(graph, options=BUILDER().order_by("size").build())
        with pytest.raises(ValueError, match="select takes .*; got color"):
            tf.profiler.profile(graph, options=BUILDER().select(["color"]).build())
        with pytest.raises(ValueError, match="output is stdout"):
            tf.profiler.profile(graph, options={**BUILDER().build(), "output": "paper"})
        for name in ("account_type", "start_name", "trim_name", "show_name", "hide_name"):
            with pytest.raises(ValueError, match=rf"{name}_regexes takes regular expressions; '\*x' is none: nothing to repeat"):
                tf.profiler.profile(graph, options={**BUILDER().build(), f"{name}_regexes": [".*", "*x"]})
        with pytest.raises(tf.errors.NotFoundError, match="step 3 was not added"):
            tf.profiler.profile(graph, options=BUILDER().with_step(3).build())
        with pytest.raises(tf.errors.UnimplementedError, match="thalweg trace view"):
            tf.profiler.profile(graph, options=BUILDER().with_timeline_output("t.json").build())
        with pytest.raises(tf.errors.UnimplementedError, match="by edges of the graph"):
            tf.profiler.profile(graph, cmd="graph")


def test_the_older_name(tmp_path, capsys):
    from thalweg.compatibility import stand_ins
    analyzer = tf.contrib.tfprof.model_analyzer
    with tf.Graph().as_default() as graph:
        net()
        options = {**analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS, "dump_to_file": str(tmp_path / "parameters")}
        assert analyzer.print_model_analysis(graph, tfprof_options=options).total_parameters == 3340
        assert capsys.readouterr().out == "" and "net/dense/k (320x10" in (tmp_path / "parameters").read_text()
        assert analyzer.print_model_analysis(graph, tfprof_cmd="op", tfprof_options=analyzer.FLOAT_OPS_OPTIONS).total_float_ops > 0
    assert stand_ins.module("tensorflow.python.profiler.option_builder").ProfileOptionBuilder is BUILDER
    assert stand_ins.module("tensorflow.python.profiler.model_analyzer").profile is tf.profiler.profile
