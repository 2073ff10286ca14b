# SPDX-License-Identifier: Apache-2.0
"""Mistakes in whole programs: see mistakes.py. A function makes a graph; what it yields is run, fetches or (fetches, feeds), and the
values come back to it. The working folder is empty. Python 3.7 and later."""

PROGRAMS = {}


def mistake(function):
    PROGRAMS[function.__name__.replace("_", " ")] = function
    return function


def simply(**functions):
    """Mistakes of one expression, which is run when it can be made."""
    for name, make in functions.items():
        def program(tf, make=make):
            yield make(tf)
        PROGRAMS[name.replace("_", " ")] = program


def fed(**functions):
    """Mistakes in what is fed: functions of tf and a placeholder x of shape [2] that give fetches and feeds."""
    for name, make in functions.items():
        def program(tf, make=make):
            yield make(tf, tf.placeholder(tf.float32, [2], name="x"))
        PROGRAMS[name.replace("_", " ")] = program


# ---- feeds and fetches ----
fed(
    placeholder_without_a_value=lambda tf, x: (x + 1, {}),
    feed_of_another_shape=lambda tf, x: (x + 1, {x: [1, 2, 3]}),
    feed_of_another_rank=lambda tf, x: (x + 1, {x: 1.0}),
    feed_of_text_for_a_number=lambda tf, x: (x + 1, {x: ["a", "b"]}),
    feed_of_rows_of_other_lengths=lambda tf, x: (x + 1, {x: [[1], [1, 2]]}),
    feed_of_none=lambda tf, x: (x + 1, {x: None}),
    feed_of_a_tensor=lambda tf, x: (x + 1, {x: tf.constant([1.0, 2.0])}),
    feed_of_an_unknown_name=lambda tf, x: (x + 1, {"y:0": [1, 2]}),
    feed_of_an_operation_by_name=lambda tf, x: (x + 1, {"x": [1, 2]}),
    feed_that_is_no_dictionary=lambda tf, x: (x + 1, [1, 2]),
    feed_of_an_operation=lambda tf, x: (x + 1, {x.op: [1, 2]}),
    fetch_of_none=lambda tf, x: (None, {x: [1, 2]}),
    fetch_of_a_number=lambda tf, x: (1, {x: [1, 2]}),
    fetch_of_a_list_with_none=lambda tf, x: ([x, None], {x: [1, 2]}),
    fetch_of_an_unknown_name=lambda tf, x: ("y:0", {x: [1, 2]}),
    fetch_of_an_output_beyond=lambda tf, x: ("x:1", {x: [1, 2]}),
)


@mistake
def fraction_fed_for_an_integer(tf):
    x = tf.placeholder(tf.int32, [], name="x")
    yield x + 1, {x: 1.5}


@mistake
def number_fed_beyond_its_type(tf):
    x = tf.placeholder(tf.uint8, [], name="x")
    yield tf.identity(x), {x: 300}


@mistake
def placeholder_of_unknown_shape_without_a_value(tf):
    yield tf.placeholder(tf.int32, name="x") + 1


@mistake
def fetch_from_another_graph(tf):
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    tf.constant(2.0)
    yield other


@mistake
def tensor_of_another_graph(tf):
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="other")
    yield tf.add(other, tf.constant(2.0, name="here"))


@mistake
def closed_session(tf):
    x = tf.constant(1.0)
    session = tf.Session()
    session.close()
    yield
    session.run(x)


@mistake
def empty_graph(tf):
    yield
    with tf.Session() as session:
        session.run([])


@mistake
def eval_without_a_session(tf):
    tf.constant(1.0, name="x").eval()
    yield


@mistake
def run_without_a_session(tf):
    tf.no_op().run()
    yield


@mistake
def finalized_graph(tf):
    tf.constant(1.0)
    tf.get_default_graph().finalize()
    tf.constant(2.0)
    yield


# ---- values and types ----
simply(
    constant_of_too_many_elements=lambda tf: tf.constant([1, 2, 3, 4, 5], shape=[2, 2]),
    constant_of_text_for_a_number=lambda tf: tf.constant("a", tf.float32),
    constant_of_a_fraction_for_an_integer=lambda tf: tf.constant(1.5, tf.int32),
    constant_of_rows_of_other_lengths=lambda tf: tf.constant([[1], [2, 3]]),
    constant_of_none=lambda tf: tf.constant(None),
    constant_of_an_object=lambda tf: tf.constant(object()),
    constant_beyond_its_type=lambda tf: tf.constant(1 << 40, tf.int32),
    sum_of_integer_and_fraction=lambda tf: tf.constant(1) + 1.5,
    sum_of_two_types=lambda tf: tf.constant(1) + tf.constant(1.5),
    add_of_two_types=lambda tf: tf.add(tf.constant(1), tf.constant(1.5)),
    product_of_two_types=lambda tf: tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2], tf.float64)),
    product_of_text=lambda tf: tf.matmul(tf.constant([["a"]]), tf.constant([["b"]])),
    square_root_of_an_integer=lambda tf: tf.sqrt(tf.constant(4)),
    concat_of_two_types=lambda tf: tf.concat([tf.zeros([2]), tf.zeros([2], tf.int32)], 0),
    stack_of_two_types=lambda tf: tf.stack([tf.constant(1), tf.constant(1.5)]),
    where_of_a_condition_that_is_no_bool=lambda tf: tf.where([1, 0], [1, 2], [3, 4]),
    gather_by_fractions=lambda tf: tf.gather([1, 2], [0.5]),
    conversion_to_another_type=lambda tf: tf.convert_to_tensor(tf.constant(1.5), tf.int32),
    conversion_of_none=lambda tf: tf.add(None, 1.0),
    tensor_as_a_bool=lambda tf: 1 if tf.constant(1.0) > 0 else 2,
    tensor_in_a_loop=lambda tf: [row for row in tf.constant([1.0, 2.0])],
    length_of_a_tensor=lambda tf: len(tf.constant([1.0, 2.0])),
    index_of_text=lambda tf: tf.constant([1.0, 2.0])["a"],
    index_of_a_fraction=lambda tf: tf.constant([1.0, 2.0])[0.5],
    number_of_a_tensor=lambda tf: float(tf.constant(1.0)),
    range_of_a_tensor=lambda tf: list(range(tf.constant(3))),
    assignment_to_an_element=lambda tf: tf.constant([1.0, 2.0]).__setitem__(0, 3.0),
    numpy_of_a_tensor=lambda tf: tf.constant(1.0).numpy(),
    unknown_type=lambda tf: tf.as_dtype("float31"),
    list_of_an_unknown_shape=lambda tf: tf.placeholder(tf.float32).shape.as_list(),
    shapes_that_are_not_compatible=lambda tf: tf.TensorShape([2, 3]).merge_with([2, 4]),
    tensor_by_the_name_of_an_operation=lambda tf: tf.identity(1.0, name="x").graph.get_tensor_by_name("x"),
    tensor_by_an_unknown_name=lambda tf: tf.get_default_graph().get_tensor_by_name("y:0"),
    tensor_by_an_output_beyond=lambda tf: tf.identity(1.0, name="x").graph.get_tensor_by_name("x:1"),
    operation_by_an_unknown_name=lambda tf: tf.get_default_graph().get_operation_by_name("y"),
    operation_by_the_name_of_a_tensor=lambda tf: tf.identity(1.0, name="x").graph.get_operation_by_name("x:0"),
    scope_of_another_name=lambda tf: tf.name_scope("a b").__enter__(),
    node_of_another_name=lambda tf: tf.constant(1.0, name="a b"),
    device_of_another_name=lambda tf: tf.device("/cpu:x:y").__enter__() or tf.constant(1.0),
    control_input_that_is_a_number=lambda tf: tf.control_dependencies([1]).__enter__(),
    keyword_that_is_unknown=lambda tf: tf.matmul([[1.0]], [[1.0]], transposed=True),
    argument_that_is_missing=lambda tf: tf.matmul([[1.0]]),
    sparse_matrix_of_a_vector=lambda tf: tf.SparseTensor([0, 1], [1.0], [2]).indices,
    reduction_by_a_fraction=lambda tf: tf.reduce_sum([[1.0]], 0.5),
    split_of_a_number_that_is_unknown=lambda tf: tf.split(tf.zeros([4]), tf.placeholder(tf.int32)),
    unstack_of_an_unknown_shape=lambda tf: tf.unstack(tf.placeholder(tf.float32)),
    one_hot_of_fractions=lambda tf: tf.one_hot([0.5], 2),
    addition_of_variables_by_text=lambda tf: tf.constant(1.0) + "a",
    add_n_of_nothing=lambda tf: tf.add_n([]),
    add_n_of_a_number=lambda tf: tf.add_n(1.0),
    concat_of_nothing=lambda tf: tf.concat([], 0),
    stack_of_nothing=lambda tf: tf.stack([]),
    group_of_a_number=lambda tf: tf.group(1),
    import_of_a_graph_without_its_input=lambda tf: tf.import_graph_def(lonely(tf), name=""),
    import_of_something_else=lambda tf: tf.import_graph_def("graph"),
    import_that_returns_an_unknown_name=lambda tf: tf.import_graph_def(tf.GraphDef(), return_elements=["y:0"]),
    import_that_maps_an_unknown_input=lambda tf: tf.import_graph_def(tf.GraphDef(), input_map={"y:0": tf.constant(1.0)}),
    import_of_an_unknown_operation=lambda tf: tf.import_graph_def(lonely(tf, "NoSuchOperation"), name=""),
)


def lonely(tf, op="Identity"):
    graph = tf.GraphDef()
    node = graph.node.add()
    node.name, node.op = "lonely", op
    if op == "Identity":
        node.input.append("nobody")
        node.attr["T"].type = 1
    return graph


# ---- variables ----
simply(
    variable_without_a_value=lambda tf: tf.Variable([1.0], name="v") + 1.0,
    resource_variable_without_a_value=lambda tf: tf.get_variable("v", [2], use_resource=True) + 1.0,
    variable_without_an_initial_value=lambda tf: tf.Variable(),
    variable_of_none=lambda tf: tf.Variable(None),
    get_variable_without_a_shape=lambda tf: tf.get_variable("v"),
    get_variable_of_an_unknown_shape=lambda tf: tf.get_variable("v", [None, 2]),
    get_variable_twice=lambda tf: [tf.get_variable("v", [2]), tf.get_variable("v", [2])],
    get_variable_of_a_constant_and_a_shape=lambda tf: tf.get_variable("v", [2], initializer=tf.constant([1.0])),
    assign_of_another_shape=lambda tf: tf.assign(tf.Variable([1.0, 2.0]), [1.0]),
    assign_of_another_type=lambda tf: tf.assign(tf.Variable([1.0, 2.0]), tf.constant([1, 2])),
    assign_to_a_constant=lambda tf: tf.assign(tf.constant([1.0]), [2.0]),
    assign_of_another_shape_to_a_resource=lambda tf: tf.get_variable("v", [2], use_resource=True).assign([1.0]),
    assign_add_of_another_shape=lambda tf: tf.assign_add(tf.Variable([1.0, 2.0]), [1.0]),
    scatter_into_a_constant=lambda tf: tf.scatter_update(tf.constant([1.0]), [0], [2.0]),
    saver_of_nothing=lambda tf: tf.train.Saver(),
    optimizer_of_nothing=lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0)),
    optimizer_of_a_loss_that_depends_on_nothing=lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.constant(1.0), var_list=[tf.Variable([1.0], name="v")]),
    optimizer_of_an_integer=lambda tf: tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.Variable([1], name="v"))),
    optimizer_of_a_loss_by_text=lambda tf: tf.train.AdamOptimizer().minimize("loss"),
    apply_gradients_of_nothing=lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([]),
    gradients_of_other_gradients=lambda tf: tf.gradients(tf.constant([1.0]), [tf.constant(1.0)], grad_ys=[tf.constant([1.0]), tf.constant(1.0)]),
    gradient_of_an_operation_that_has_none=lambda tf: tf.gradients(gather_of_strings(tf), tf.trainable_variables()),
    moving_average_of_a_constant=lambda tf: tf.train.ExponentialMovingAverage(0.9).apply([tf.constant(1)]),
)


def gather_of_strings(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    return tf.cast(tf.image.non_max_suppression(tf.stack([tf.concat([v, v], 0)]), v[:1], 1), tf.float32) + tf.image.hsv_to_rgb(tf.stack([v[0], v[1], v[1]]))


@mistake
def get_variable_with_reuse_that_is_not_there(tf):
    with tf.variable_scope("s", reuse=True):
        yield tf.get_variable("v", [2])


@mistake
def get_variable_again_with_another_shape(tf):
    tf.get_variable("v", [2])
    with tf.variable_scope("", reuse=True):
        yield tf.get_variable("v", [3])


@mistake
def get_variable_again_with_another_type(tf):
    tf.get_variable("v", [2])
    with tf.variable_scope("", reuse=True):
        yield tf.get_variable("v", [2], tf.int32)


@mistake
def scatter_of_an_index_out_of_range(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    yield tf.global_variables_initializer()
    yield tf.scatter_add(v, [2], [1.0])


@mistake
def scatter_into_a_resource_out_of_range(tf):
    v = tf.get_variable("v", [2], use_resource=True)
    yield tf.global_variables_initializer()
    yield v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2])))


@mistake
def gather_from_a_variable_out_of_range(tf):
    v = tf.get_variable("v", [2], use_resource=True)
    yield tf.global_variables_initializer()
    yield tf.gather(v, [2])


@mistake
def assign_of_a_value_that_turns_out_to_be_longer(tf):
    v, x = tf.Variable([1.0, 2.0], name="v"), tf.placeholder(tf.float32, name="x")
    yield v.initializer
    yield tf.assign(v, x), {x: [1.0, 2.0, 3.0]}


@mistake
def assign_of_a_value_that_turns_out_to_be_longer_to_a_resource(tf):
    v, x = tf.get_variable("v", [2], use_resource=True), tf.placeholder(tf.float32, name="x")
    yield v.initializer
    yield v.assign(x), {x: [1.0, 2.0, 3.0]}


@mistake
def update_of_another_shape(tf):
    v, x = tf.Variable([1.0, 2.0], name="v"), tf.placeholder(tf.float32, name="x")
    yield v.initializer
    yield tf.assign_add(v, x), {x: [1.0, 2.0, 3.0]}


@mistake
def step_before_its_slots_have_values(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    yield v.initializer
    yield step


@mistake
def check_of_variables_without_values(tf):
    tf.Variable([1.0], name="v")
    yield tf.assert_variables_initialized()


# ---- checkpoints ----
def saved(tf, **variables):
    """A checkpoint in the working folder."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in variables.items():
            tf.Variable(value, name=name)
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, "./saved", write_meta_graph=False)


def restored(tf, path):
    with tf.Session() as session:
        tf.train.Saver().restore(session, path)


@mistake
def checkpoint_of_another_shape(tf):
    path = saved(tf, v=[1.0, 2.0])
    tf.Variable([1.0, 2.0, 3.0], name="v")
    yield
    restored(tf, path)


@mistake
def checkpoint_of_another_type(tf):
    path = saved(tf, v=[1, 2])
    tf.Variable([1.0, 2.0], name="v")
    yield
    restored(tf, path)


@mistake
def checkpoint_without_a_variable(tf):
    path = saved(tf, v=[1.0, 2.0])
    tf.Variable([1.0, 2.0], name="w")
    yield
    restored(tf, path)


@mistake
def checkpoint_that_is_not_there(tf):
    tf.Variable([1.0, 2.0], name="v")
    yield
    restored(tf, "./nothing")


@mistake
def checkpoint_that_is_none(tf):
    tf.Variable([1.0, 2.0], name="v")
    yield
    restored(tf, None)


@mistake
def checkpoint_that_is_damaged(tf):
    path = saved(tf, v=[1.0, 2.0])
    with open(path + ".index", "wb") as f:
        f.write(b"nothing of the kind" * 9)
    tf.Variable([1.0, 2.0], name="v")
    yield
    restored(tf, path)


@mistake
def checkpoint_into_a_folder_that_is_not_there(tf):
    tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        yield
        tf.train.Saver().save(session, "./none/saved")


@mistake
def checkpoint_of_variables_without_values(tf):
    tf.Variable([1.0, 2.0], name="v")
    yield
    with tf.Session() as session:
        tf.train.Saver().save(session, "./saved")


@mistake
def checkpoint_read_for_a_tensor_that_is_not_in_it(tf):
    path = saved(tf, v=[1.0, 2.0])
    yield
    tf.train.load_variable(path, "w")


@mistake
def meta_graph_that_is_not_there(tf):
    tf.train.import_meta_graph("./none.meta")
    yield


@mistake
def saved_model_that_is_not_there(tf):
    with tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], "./none")
    yield


# ---- loops and conditionals ----
simply(
    loop_that_changes_a_shape=lambda tf: tf.while_loop(lambda x: tf.reduce_sum(x) < 9, lambda x: tf.concat([x, x], 0), [tf.ones([2])]),
    loop_that_changes_a_type=lambda tf: tf.while_loop(lambda i: i < 9, lambda i: tf.cast(i, tf.float32) + 1, [0]),
    loop_that_returns_too_many=lambda tf: tf.while_loop(lambda i: i < 9, lambda i: (i + 1, i), [0]),
    loop_of_nothing=lambda tf: tf.while_loop(lambda: True, lambda: [], []),
    loop_of_a_condition_that_is_no_bool=lambda tf: tf.while_loop(lambda i: i, lambda i: i + 1, [0]),
    loop_of_a_condition_of_many=lambda tf: tf.while_loop(lambda i: i < 9, lambda i: i + 1, [tf.constant([1, 2])]),
    loop_of_no_function=lambda tf: tf.while_loop(True, lambda i: i + 1, [0]),
    loop_of_a_function_with_other_arguments=lambda tf: tf.while_loop(lambda i: i < 9, lambda i, j: i + 1, [0]),
    loop_of_a_shape_that_does_not_hold=lambda tf: tf.while_loop(
        lambda x: tf.reduce_sum(x) < 9, lambda x: x, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])]),
    cond_of_other_types=lambda tf: tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(1.0)),
    cond_of_other_counts=lambda tf: tf.cond(tf.constant(True), lambda: [tf.constant(1)], lambda: [tf.constant(1), tf.constant(2)]),
    cond_of_nothing_and_something=lambda tf: tf.cond(tf.constant(True), lambda: None, lambda: tf.constant(1)),
    cond_of_no_function=lambda tf: tf.cond(tf.constant(True), tf.constant(1), tf.constant(2)),
    cond_of_a_python_bool=lambda tf: tf.cond(True, lambda: 1, lambda: 2),
    cond_of_a_number=lambda tf: tf.cond(tf.constant(1), lambda: 1, lambda: 2),
    cond_of_a_vector=lambda tf: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2),
    case_of_nothing=lambda tf: tf.case([], default=lambda: 1),
    case_of_two_that_are_true=lambda tf: tf.case([(tf.constant(True), lambda: 1), (tf.constant(True), lambda: 2)], default=lambda: 3, exclusive=True),
    map_of_scalars=lambda tf: tf.map_fn(lambda x: x, tf.constant(1.0)),
    map_to_another_type=lambda tf: tf.map_fn(lambda x: tf.cast(x, tf.int32), tf.constant([1.0])),
    map_of_no_function=lambda tf: tf.map_fn(1, tf.constant([1.0])),
    scan_to_another_shape=lambda tf: tf.scan(lambda a, x: tf.stack([a, x]), tf.constant([1.0, 2.0])),
)


@mistake
def cond_of_a_vector_that_is_fed(tf):
    p = tf.placeholder(tf.bool, name="p")
    yield tf.cond(p, lambda: 1, lambda: 2), {p: [True, False]}


@mistake
def array_read_beyond_its_size(tf):
    yield tf.TensorArray(tf.float32, 2).write(0, 1.0).read(5)


@mistake
def array_read_where_nothing_was_written(tf):
    yield tf.TensorArray(tf.float32, 2).write(0, 1.0).read(1)


@mistake
def array_read_twice(tf):
    a = tf.TensorArray(tf.float32, 2).write(0, 1.0)
    with tf.control_dependencies([a.read(0)]):
        yield a.read(0)


@mistake
def array_of_other_shapes(tf):
    x = tf.placeholder(tf.float32, name="x")
    yield tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, x).stack(), {x: [1.0, 2.0]}


@mistake
def array_of_another_type(tf):
    yield tf.TensorArray(tf.float32, 2).write(0, tf.constant(1)).read(0)
