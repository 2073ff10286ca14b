# SPDX-License-Identifier: Apache-2.0
"""Cases of order, repetition, counts, shapes, segments and statistics: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails, numbers

X = numbers(3, 4)
TIED = np.array([[3, 1, 3, 2], [0, 0, 5, 5]], np.int32)
IDS = np.array([1, 0, 1], np.int32)


def values(**functions):
    CASES.update(functions)


values(
    sort=lambda tf: [tf.sort(X), tf.sort(X, axis=0), tf.sort(X, 1, "DESCENDING"), tf.sort(TIED),
                     tf.sort(tf.constant([5, 2, 8], tf.int64), direction="DESCENDING"),
                     fails(tf, lambda: tf.sort(X, direction="UP"))],
    argsort=lambda tf: [tf.argsort(X), tf.argsort(X, axis=0), tf.argsort(TIED, stable=True),
                        tf.argsort(TIED, 0, "DESCENDING"), fails(tf, lambda: tf.argsort(X, direction="UP"))],
    repeat=lambda tf: [tf.repeat([1, 2, 3], 2), tf.repeat([1, 2, 3], [2, 0, 1]), tf.repeat(X, [1, 2, 0], axis=0),
                       tf.repeat(X, 2, axis=-1), tf.repeat(X, 2), fails(tf, lambda: tf.repeat([1, 2], [1, 2, 3]))],
    parallel_stack=lambda tf: [tf.parallel_stack([X, X + 1]), tf.parallel_stack([[1, 2], [3, 4]])],
    batch_gather=lambda tf: [tf.batch_gather(X, [[0, 1], [3, 2], [1, 1]]), tf.batch_gather(numbers(2, 3, 2), [[2, 0], [1, 1]])],
    bincount=lambda tf: [tf.bincount([1, 1, 3, 0]), tf.bincount([1, 1, 3], minlength=6), tf.bincount([1, 1, 3], maxlength=2),
                         tf.bincount([1, 1, 3], weights=[0.5, 1.0, 2.0]), tf.bincount([1, 2], dtype=tf.int64),
                         tf.math.bincount(tf.constant([], tf.int32)), fails(tf, lambda: tf.bincount([-1, 2]))],
    histogram_fixed_width_bins=lambda tf: [
        tf.histogram_fixed_width_bins([-1.0, 0.0, 1.5, 2.0, 5.0, 15], [0.0, 5.0], nbins=5),
        tf.histogram_fixed_width([-1.0, 0.0, 1.5, 2.0, 5.0, 15], [0.0, 5.0], nbins=5)],
    broadcast_dynamic_shape=lambda tf: [tf.broadcast_dynamic_shape([2, 1, 3], [4, 1]),
                                        fails(tf, lambda: tf.broadcast_dynamic_shape([2, 3], [3, 3]))],
    broadcast_static_shape=lambda tf: [
        str(tf.broadcast_static_shape(tf.TensorShape([2, 1, 3]), tf.TensorShape([4, 1]))),
        str(tf.broadcast_static_shape(tf.TensorShape([None, 3]), tf.TensorShape([1, 3]))),
        str(tf.broadcast_static_shape(tf.TensorShape(None), tf.TensorShape([1, 3]))),
        fails(tf, lambda: tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3])))],
    required_space_to_batch_paddings=lambda tf: list(tf.required_space_to_batch_paddings([5, 6], [2, 4])) +
    list(tf.required_space_to_batch_paddings(tf.placeholder_with_default([5, 6], [2]), [2, 4], [[1, 0], [0, 1]])),
    unsorted_segment_mean=lambda tf: [tf.unsorted_segment_mean(X, IDS, 3), tf.math.unsorted_segment_mean(X[0], [0, 0, 2, 1], 3)],
    unsorted_segment_sqrt_n=lambda tf: [tf.unsorted_segment_sqrt_n(X, IDS, 3), tf.unsorted_segment_sqrt_n(
        X, [[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], 2)],
    lbeta=lambda tf: [tf.lbeta([[1.0, 2.0], [0.5, 3.0]]), tf.math.lbeta(tf.constant([2.0, 3.0, 0.1]))],
    math__reduce_variance=lambda tf: [tf.math.reduce_variance(X), tf.math.reduce_variance(X, 0), tf.math.reduce_variance(
        X, [1], keepdims=True)],
    math__reduce_std=lambda tf: [tf.math.reduce_std(X), tf.math.reduce_std(X, 1, True)],
    math__reduce_euclidean_norm=lambda tf: [tf.math.reduce_euclidean_norm(X), tf.math.reduce_euclidean_norm(X, 0),
                                            tf.math.reduce_euclidean_norm(X, [0, 1], keepdims=True)],
    math__reciprocal_no_nan=lambda tf: [tf.math.reciprocal_no_nan([0.0, 2.0, -4.0])],
    math__polyval=lambda tf: [tf.math.polyval([3.0, 2.0, 1.0], X), tf.math.polyval([], X), tf.math.polyval([2.0], X)],
    to_complex64=lambda tf: [tf.to_complex64([1.0, 2.0]), tf.to_complex128([1.0])],
    switch_case=lambda tf: [tf.switch_case(tf.constant(i), {0: lambda: tf.constant(17), 1: lambda: tf.constant(31)},
                                           default=lambda: tf.constant(-1)) for i in (0, 1, 2, -5)] +
    [tf.switch_case(tf.constant(7), [lambda: tf.constant(1), lambda: tf.constant(2)]),
     fails(tf, lambda: tf.switch_case(tf.constant(0), {})), fails(tf, lambda: tf.switch_case(tf.constant(0), [3])),
     fails(tf, lambda: tf.switch_case(tf.constant(0), [(0, lambda: 1), (0, lambda: 2)]))],
    vectorized_map=lambda tf: [tf.vectorized_map(lambda row: tf.reduce_sum(row) * row, tf.constant(X))])

values(
    random__stateless_uniform=lambda tf: [
        tf.random.stateless_uniform([3], [1, 2]), tf.random.stateless_uniform([2, 2], [5, 6], -1.0, 4.0),
        tf.random.stateless_uniform([4], [1, 2], 0, 100, tf.int32), fails(tf, lambda: tf.random.stateless_uniform(
            [2], [1, 2], dtype=tf.int32)), fails(tf, lambda: tf.random.stateless_uniform([2], [1, 2], dtype=tf.bool))],
    random__stateless_normal=lambda tf: [tf.random.stateless_normal([3], [1, 2]), tf.random.stateless_normal(
        [3], [1, 2], 1.0, 2.0)],
    random__stateless_truncated_normal=lambda tf: [tf.random.stateless_truncated_normal([5], [3, 2], 0.5, 0.1)],
    random__stateless_categorical=lambda tf: [tf.random.stateless_categorical(X, 5, [3, 4]), tf.random.stateless_categorical(
        X, 2, [3, 4], tf.int32)],
    random__all_candidate_sampler=lambda tf: list(tf.random.all_candidate_sampler(
        tf.constant([[1], [2]], tf.int64), 1, 4, True, seed=3)),
    random__fixed_unigram_candidate_sampler=lambda tf: list(tf.random.fixed_unigram_candidate_sampler(
        tf.constant([[1], [2]], tf.int64), 1, 2, True, 4, unigrams=[1.0, 2.0, 3.0, 4.0], seed=3)))


def with_variables(tf):
    """Rows and elements of variables that are changed, one after the other."""
    found = []
    for kind, op in enumerate((tf.scatter_add, tf.scatter_sub, tf.scatter_update, tf.scatter_mul, tf.scatter_div, tf.scatter_min,
                               tf.scatter_max)):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v%d" % kind)
        found += [op(v, [0, 2], [[2.0, 2.0], [4.0, 4.0]]), v]
    for kind, op in enumerate((tf.scatter_nd_add, tf.scatter_nd_sub, tf.scatter_nd_update)):
        for resource in (False, True):
            v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="n%d" % kind, use_resource=resource)
            change = op(v, [[1], [3]], [10.0, 20.0])
            found += [change, v]
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="b")
    found += [tf.batch_scatter_update(v, [[0], [1]], [[9.0], [8.0]]), v]
    return found


def partitioned(tf):
    parts = tf.create_partitioned_variables([4, 2], [2, 1], tf.ones_initializer(), name="cut")
    return [len(parts), *parts, *[p.name for p in parts], fails(tf, lambda: tf.create_partitioned_variables(
        [4, 2], [2], tf.ones_initializer())), fails(tf, lambda: tf.create_partitioned_variables([], [], tf.ones_initializer()))]


def local_variable(tf):
    v = tf.get_local_variable("here", [2], initializer=tf.constant_initializer(3.0))
    return [v, v.name, len(tf.local_variables()), len(tf.trainable_variables()), len(tf.global_variables())]


def templates(tf):
    def affine(x, units):
        return tf.matmul(x, tf.get_variable("w", [x.shape[1], units], initializer=tf.constant_initializer(0.5)))
    made = tf.make_template("affine", affine, units=2)
    other = tf.make_template("affine", affine, units=3)
    found = [made(tf.constant(X)), made(tf.constant(X) + 1), other(tf.constant(X))]
    bad = tf.make_template("bad", lambda: tf.Variable(1.0))
    bad()
    return found + [v.name for v in tf.global_variables()] + [
        made.variable_scope_name, made.name, len(made.variables), len(made.trainable_variables), fails(tf, bad),
        fails(tf, lambda: tf.make_template(None, affine))]


def second_derivatives(tf):
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([[1.0, 2.0], [0.5, -1.0]])
    return [*tf.hessians(tf.reduce_sum(x * x * x), x), *tf.hessians(tf.reduce_sum(tf.sin(y)) * tf.reduce_sum(y), [y])]


def tapes(tf):
    x, y, v = tf.constant(3.0), tf.constant(2.0), tf.Variable(5.0, use_resource=True)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * x * y * v
    found = [tape.gradient(z, x), tape.gradient(z, v), str(tape.gradient(z, y))]
    with tf.GradientTape() as once:
        once.watch(x)
        z = x * x
    found.append(once.gradient(z, {"x": x})["x"])
    # What was computed before a tape is a constant to it, and what was computed after it is nothing.
    earlier = x * v
    with tf.GradientTape(persistent=True) as late:
        late.watch(x)
        late.watch(earlier)
        half = earlier * x
        with late.stop_recording():
            unseen = x * x * x
        z = half * unseen * v
        inner = late.gradient(half, x)
        squared = inner * inner
    rows = tf.stack([x, x + 1.0])
    with tf.GradientTape() as matrix:
        matrix.watch(rows)
        products = rows * rows * earlier
    of_late = [(z, x), (z, v), (z, earlier), (z, half), (squared, x), (z, rows), (z * 2.0, x), (z, unseen)]
    found += [str(g) if g is None else g for g in (late.gradient(y, by) for y, by in of_late)]
    found += [matrix.jacobian(products, rows)]
    with tf.GradientTape(persistent=True) as begun_again:
        begun_again.watch(x)
        z = x * v
        begun_again.reset()
        y = z * x * v
    found += [str(begun_again.gradient(y, x)), begun_again.gradient(y, v)]
    return found + [fails(tf, lambda: once.gradient(z, x)), fails(tf, lambda: once.watch(3))]


def passed_through(tf):
    x = tf.constant([1.5, -0.2])
    with tf.variable_scope("resources", use_resource=True):
        return tf.gradients(tf.reduce_sum(tf.grad_pass_through(tf.round)(x) * 3), x)


values(scatter_mul=with_variables, create_partitioned_variables=partitioned, get_local_variable=local_variable,
       make_template=templates, hessians=second_derivatives, GradientTape=tapes, grad_pass_through=passed_through)


def handles(tf):
    """A value stays in its session; programs get its handle."""
    with tf.Session() as session:
        handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
        holder, value = tf.get_session_tensor(handle if isinstance(handle, str) else handle.handle, tf.float32)
        return [[float(v) for v in session.run(value * 2, {holder: handle.handle if hasattr(handle, "handle") else handle})]
                == [2.0, 4.0]]


values(get_session_handle=lambda tf: [int(handles(tf)[0])])


def specifications(tf):
    a, b = tf.TensorSpec([None, 3], tf.float32, "a"), tf.TensorSpec([None, 3], "float32", "a")
    return [int(a == b), int(a == tf.TensorSpec([2, 3])), int(a.is_compatible_with(tf.constant(numbers(4, 3)))), str(a.shape),
            int(a.is_compatible_with(tf.constant([1]))), a.name, a.dtype.name, repr(a),
            int(tf.SparseTensorSpec([2, 2]) == tf.SparseTensorSpec([2, 2])),
            int(isinstance(a, tf.TypeSpec) or isinstance(a, tf.TensorSpec)), len({a, b}),
            fails(tf, lambda: tf.TensorSpec([2], "nothing"))]


def devices(tf):
    spec = tf.DeviceSpec(job="ps", task=1, device_type="CPU", device_index=0)
    merged = tf.DeviceSpec(job="worker")
    merged.merge_from(tf.DeviceSpec.from_string("/device:GPU:3"))
    with tf.Graph().as_default(), tf.device(spec):
        x = tf.constant(1.0)
    return [spec.to_string(), merged.to_string(), str(tf.DeviceSpec.from_string("/job:a/replica:2/cpu:1").to_string()), x.device,
            str(tf.DeviceSpec().to_string()), str(spec.device_index), fails(tf, lambda: tf.DeviceSpec.from_string("/x:1"))]


def modules(tf):
    class Part(tf.Module):
        def __init__(self, name=None):
            super(Part, self).__init__(name)
            self.w = tf.Variable(1.0, name="w")

    class Whole(tf.Module):
        def __init__(self):
            super(Whole, self).__init__()
            self.parts = [Part("one"), Part()]
            self.fixed = tf.Variable(2.0, trainable=False)
    made = Whole()
    with made.name_scope:
        c = tf.constant(1.0)
    return [made.name, len(made.variables), len(made.trainable_variables), len(made.submodules), made.parts[1].name, c.name,
            fails(tf, lambda: Part("1 x"))]


values(
    TensorSpec=specifications, DeviceSpec=devices, Module=modules,
    is_tensor=lambda tf: [int(tf.is_tensor(tf.constant(1))), int(tf.is_tensor(3)), int(tf.is_tensor(tf.Variable(1.0))),
                          int(tf.is_tensor(np.ones(2)))],
    get_static_value=lambda tf: [tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2] and 1 or 0,
                                 str(tf.get_static_value(tf.placeholder(tf.int32)))],
    executing_eagerly=lambda tf: [int(tf.executing_eagerly()), int(tf.control_flow_v2_enabled()),
                                  int(tf.resource_variables_enabled())],
    dimension_at_index=lambda tf: [str(tf.dimension_at_index(tf.TensorShape([2, None]), 0)),
                                   str(tf.dimension_at_index(tf.TensorShape(None), 3))],
    convert_to_tensor_or_sparse_tensor=lambda tf: [
        type(tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[0]], [1], [2]))).__name__,
        tf.convert_to_tensor_or_sparse_tensor([1, 2]), fails(tf, lambda: tf.convert_to_tensor_or_sparse_tensor(
            tf.SparseTensor([[0]], [1], [2]), tf.float32))],
    convert_to_tensor_or_indexed_slices=lambda tf: [
        tf.convert_to_tensor_or_indexed_slices([1, 2]), type(tf.convert_to_tensor_or_indexed_slices(tf.IndexedSlices(
            tf.constant([[1.0]]), tf.constant([0])))).__name__],
    op_scope=lambda tf: [(lambda scope: [scope.__enter__(), tf.constant(1).name, scope.__exit__(None, None, None)][1])(
        tf.op_scope([], None, "inside"))],
    GRAPH_DEF_VERSION=lambda tf: [tf.GRAPH_DEF_VERSION, tf.GRAPH_DEF_VERSION_MIN_CONSUMER, tf.GRAPH_DEF_VERSION_MIN_PRODUCER,
                                  tf.version.GRAPH_DEF_VERSION])


def conversions(tf):
    class Money(object):
        def __init__(self, amount):
            self.amount = amount
    tf.register_tensor_conversion_function(Money, lambda value, dtype=None, name=None, as_ref=False: tf.constant(value.amount))
    return [tf.add(Money(3.0), 1.0), fails(tf, lambda: tf.register_tensor_conversion_function("x", lambda v: v)),
            fails(tf, lambda: tf.register_tensor_conversion_function(Money, 3))]


def initial(tf):
    with tf.name_scope("outer"), tf.control_dependencies([tf.constant(1.0)]), tf.init_scope():
        c = tf.constant(2.0)
    return [c.name, len(c.op.control_inputs)]


values(register_tensor_conversion_function=conversions, init_scope=initial,
       assert_variables_initialized=lambda tf: [str(tf.assert_variables_initialized()), fails(
           tf, lambda: (tf.Variable(1.0), tf.assert_variables_initialized())[1])])
