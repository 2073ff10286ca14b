# SPDX-License-Identifier: Apache-2.0
"""Cases of symbols that are a function of tensors: see symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, numbers

X, Y = numbers(3, 4), numbers(3, 4, start=2)
SQUARE = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]], np.float32)
IDS = np.array([2, 0, 1, 2], np.int32)
LABELS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32)
IMAGE = (np.arange(2 * 4 * 6 * 3) % 251).astype(np.float32).reshape(2, 4, 6, 3)


def values(**functions):
    CASES.update(functions)


values(
    abs=lambda tf: [tf.abs(X)], add=lambda tf: [tf.add(X, Y)], add_n=lambda tf: [tf.add_n([X, Y, X])],
    arg_max=lambda tf: [tf.arg_max(X, 1)], arg_min=lambda tf: [tf.arg_min(X, 0)], argmax=lambda tf: [tf.argmax(X, 1)],
    argmin=lambda tf: [tf.argmin(X), tf.argmin(X, axis=1, output_type=tf.int32)],
    as_dtype=lambda tf: [tf.as_dtype("float32").name, tf.as_dtype(np.int64).name],
    assert_less_equal=lambda tf: [len(tf.get_default_graph().get_operations())],
    cast=lambda tf: [tf.cast(X * 5, tf.int32)], ceil=lambda tf: [tf.ceil(X)], cholesky=lambda tf: [tf.cholesky(SQUARE)],
    clip_by_value=lambda tf: [tf.clip_by_value(X, -0.2, 0.3)],
    clip_by_global_norm=lambda tf: list(tf.clip_by_global_norm([tf.constant(X), tf.constant(Y)], 1.0)[0]),
    concat=lambda tf: [tf.concat([X, Y], 1)], conj=lambda tf: [tf.conj(tf.constant([1 + 2j]))],
    convert_to_tensor=lambda tf: [tf.convert_to_tensor([1, 2])], cos=lambda tf: [tf.cos(X)],
    cross=lambda tf: [tf.cross(SQUARE, SQUARE[::-1].copy())], diag=lambda tf: [tf.diag([1.0, 2.0])],
    div=lambda tf: [tf.div(X, Y), tf.div([7, -7], [2, 2])], edit_distance=lambda tf: [tf.edit_distance(
        tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]), tf.SparseTensor([[0, 0]], ["a"], [1, 2]))],
    equal=lambda tf: [tf.equal([1, 2], [1, 3])], exp=lambda tf: [tf.exp(X)], expand_dims=lambda tf: [tf.expand_dims(X, 1)],
    fill=lambda tf: [tf.fill([2, 3], 7.0)], floor=lambda tf: [tf.floor(X)], floordiv=lambda tf: [tf.floordiv([7, -7], [2, 2])],
    gather=lambda tf: [tf.gather(X, IDS), tf.gather(X, [1, 0], axis=1)],
    gather_nd=lambda tf: [tf.gather_nd(X, [[0, 1], [2, 3]])],
    global_norm=lambda tf: [tf.global_norm([tf.constant(X), tf.constant(Y)])],
    gradients=lambda tf: tf.gradients(*(lambda x: (tf.reduce_sum(tf.square(x)), [x]))(tf.constant(X))),
    identity=lambda tf: [tf.identity(X)], linspace=lambda tf: [tf.linspace(0.0, 1.0, 5)], log=lambda tf: [tf.log(X + 1)],
    logical_and=lambda tf: [tf.logical_and([True, False], [True, True])], map_fn=lambda tf: [tf.map_fn(lambda x: x * 2, X)],
    math__confusion_matrix=lambda tf: [tf.math.confusion_matrix([0, 1, 2, 2], [0, 2, 2, 1]),
                                       tf.confusion_matrix([0, 1], [1, 1], num_classes=3, weights=[2, 3])],
    matmul=lambda tf: [tf.matmul(X, Y, transpose_b=True)], matrix_determinant=lambda tf: [tf.matrix_determinant(SQUARE)],
    matrix_inverse=lambda tf: [tf.matrix_inverse(SQUARE)], matrix_solve=lambda tf: [tf.matrix_solve(SQUARE, SQUARE[:, :1])],
    maximum=lambda tf: [tf.maximum(X, Y)], minimum=lambda tf: [tf.minimum(X, Y)], mod=lambda tf: [tf.mod([7, -7], [3, 3])],
    multiply=lambda tf: [tf.multiply(X, Y)], negative=lambda tf: [tf.negative(X)], one_hot=lambda tf: [tf.one_hot(IDS, 3)],
    ones=lambda tf: [tf.ones([2, 2])], ones_like=lambda tf: [tf.ones_like(X)],
    pad=lambda tf: [tf.pad(X, [[1, 0], [0, 2]]), tf.pad(X, [[1, 0], [0, 2]], "REFLECT")],
    pow=lambda tf: [tf.pow(tf.abs(X), 2.5)], range=lambda tf: [tf.range(5), tf.range(1.0, 2.0, 0.25)],
    reduce_max=lambda tf: [tf.reduce_max(X, 1)], reduce_mean=lambda tf: [tf.reduce_mean(X), tf.reduce_mean(X, [0], keepdims=True)],
    reduce_min=lambda tf: [tf.reduce_min(X, 0)], reduce_sum=lambda tf: [tf.reduce_sum(X, reduction_indices=[1])],
    reshape=lambda tf: [tf.reshape(X, [2, -1])], round=lambda tf: [tf.round([0.5, 1.5, -0.5, 2.4])],
    self_adjoint_eig=lambda tf: [tf.self_adjoint_eig(SQUARE)[0], tf.self_adjoint_eigvals(SQUARE)],
    sequence_mask=lambda tf: [tf.sequence_mask([1, 3], 4)], shape=lambda tf: [tf.shape(X)], sigmoid=lambda tf: [tf.sigmoid(X)],
    sign=lambda tf: [tf.sign(X)], sin=lambda tf: [tf.sin(X)], size=lambda tf: [tf.size(X)],
    slice=lambda tf: [tf.slice(X, [1, 0], [2, -1])], split=lambda tf: tf.split(X, [1, 3], 1), sqrt=lambda tf: [tf.sqrt(X + 1)],
    square=lambda tf: [tf.square(X)], squared_difference=lambda tf: [tf.squared_difference(X, Y)],
    squeeze=lambda tf: [tf.squeeze(X[:, None], [1])], stack=lambda tf: [tf.stack([X, Y], axis=1)],
    stop_gradient=lambda tf: [tf.stop_gradient(X)], strided_slice=lambda tf: [tf.strided_slice(X, [0, 1], [3, 4], [2, 2])],
    subtract=lambda tf: [tf.subtract(X, Y)], tan=lambda tf: [tf.tan(X)], tanh=lambda tf: [tf.tanh(X)],
    tile=lambda tf: [tf.tile(X, [1, 2])], to_float=lambda tf: [tf.to_float(IDS)], to_int32=lambda tf: [tf.to_int32(X * 5)],
    to_int64=lambda tf: [tf.to_int64(X * 5)], transpose=lambda tf: [tf.transpose(X)], truediv=lambda tf: [tf.truediv([7], [2])],
    unsorted_segment_sum=lambda tf: [tf.unsorted_segment_sum(X, [1, 0, 1], 2)], unstack=lambda tf: tf.unstack(X),
    zeros=lambda tf: [tf.zeros([2], tf.int32)], zeros_like=lambda tf: [tf.zeros_like(X)],
    random__truncated_normal=lambda tf: [tf.random.truncated_normal([2], seed=3)],
    random_normal=lambda tf: [tf.random_normal([3], seed=3)], random_uniform=lambda tf: [tf.random_uniform([3], seed=3)],
    random_crop=lambda tf: [tf.random_crop(X, [2, 2], seed=5)])

values(
    nn__relu=lambda tf: [tf.nn.relu(X)], nn__relu6=lambda tf: [tf.nn.relu6(X * 10)], nn__elu=lambda tf: [tf.nn.elu(X)],
    nn__softplus=lambda tf: [tf.nn.softplus(X)], nn__softsign=lambda tf: [tf.nn.softsign(X)],
    nn__sigmoid=lambda tf: [tf.nn.sigmoid(X)], nn__tanh=lambda tf: [tf.nn.tanh(X)], nn__softmax=lambda tf: [tf.nn.softmax(X)],
    nn__log_softmax=lambda tf: [tf.nn.log_softmax(X)], nn__l2_loss=lambda tf: [tf.nn.l2_loss(X)],
    nn__bias_add=lambda tf: [tf.nn.bias_add(X, numbers(4))], nn__xw_plus_b=lambda tf: [tf.nn.xw_plus_b(X, Y.T, numbers(3))],
    nn__zero_fraction=lambda tf: [tf.nn.zero_fraction([0.0, 1.0, 0.0, 2.0])], nn__top_k=lambda tf: list(tf.nn.top_k(X, 2)),
    nn__lrn=lambda tf: [tf.nn.lrn(IMAGE, 1, 1.0, 0.5, 0.6)], nn__dropout=lambda tf: [tf.nn.dropout(X, 0.5, seed=4)],
    nn__embedding_lookup=lambda tf: [tf.nn.embedding_lookup(X, IDS), tf.nn.embedding_lookup([X, Y], [0, 1, 4, 5])],
    nn__embedding_lookup___div=lambda tf: [tf.nn.embedding_lookup([X, Y], [0, 1, 4, 5], partition_strategy="div")],
    nn__conv1d=lambda tf: [tf.nn.conv1d(numbers(2, 6, 3), numbers(2, 3, 2), 2, "SAME")],
    nn__conv2d=lambda tf: [tf.nn.conv2d(IMAGE, numbers(2, 2, 3, 2), [1, 1, 2, 1], "VALID")],
    nn__conv2d_transpose=lambda tf: [tf.nn.conv2d_transpose(IMAGE, numbers(2, 2, 2, 3), [2, 8, 12, 2], [1, 2, 2, 1])],
    nn__max_pool=lambda tf: [tf.nn.max_pool(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")],
    nn__max_pool2d=lambda tf: [tf.nn.max_pool2d(IMAGE, 2, 2, "VALID")],
    nn__pool=lambda tf: [tf.nn.pool(IMAGE, [2, 2], "MAX", "VALID"), tf.nn.pool(IMAGE, [2, 3], "AVG", "SAME", strides=[2, 1])],
    nn__convolution=lambda tf: [tf.nn.convolution(IMAGE, numbers(2, 2, 3, 2), "VALID", dilation_rate=[2, 1])],
    nn__softmax_cross_entropy_with_logits=lambda tf: [tf.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=X)],
    nn__softmax_cross_entropy_with_logits_v2=lambda tf: [tf.nn.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=X)],
    nn__sparse_softmax_cross_entropy_with_logits=lambda tf: [
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 3], logits=X)],
    nn__sigmoid_cross_entropy_with_logits=lambda tf: [tf.nn.sigmoid_cross_entropy_with_logits(labels=LABELS, logits=X)],
    nn__weighted_cross_entropy_with_logits=lambda tf: [tf.nn.weighted_cross_entropy_with_logits(LABELS, X, 2.0)],
    nn__moments=lambda tf: list(tf.nn.moments(tf.constant(X), [0])),
    nn__normalize_moments=lambda tf: list(tf.nn.normalize_moments(2.0, [1.0], [4.0], None)),
    nn__nce_loss=lambda tf: [tf.nn.nce_loss(
        tf.constant(numbers(5, 4)), tf.constant(numbers(5)), tf.constant([[1], [2], [0]], tf.int64), tf.constant(X), 2, 5,
        sampled_values=(tf.constant([3, 1], tf.int64), tf.constant([[0.3], [0.2], [0.5]]), tf.constant([0.1, 0.2])),
        remove_accidental_hits=True)],
    nn__sampled_softmax_loss=lambda tf: [tf.nn.sampled_softmax_loss(
        tf.constant(numbers(5, 4)), tf.constant(numbers(5)), tf.constant([[1], [2], [0]], tf.int64), tf.constant(X), 2, 5,
        sampled_values=(tf.constant([3, 1], tf.int64), tf.constant([[0.3], [0.2], [0.5]]), tf.constant([0.1, 0.2])))])

values(
    losses__mean_squared_error=lambda tf: [tf.losses.mean_squared_error(X, Y), tf.losses.mean_squared_error(X, Y, 0.5)],
    losses__softmax_cross_entropy=lambda tf: [tf.losses.softmax_cross_entropy(LABELS, X, label_smoothing=0.1)],
    losses__sparse_softmax_cross_entropy=lambda tf: [tf.losses.sparse_softmax_cross_entropy([0, 1, 3], X, [1.0, 0.0, 2.0])],
    distributions__Normal=lambda tf: (lambda n: [n.mean(), n.stddev(), n.variance(), n.log_prob(0.7), n.prob(0.7), n.cdf(0.7),
                                                 n.entropy(), n.mode(), n.quantile(0.3), n.sample(2, seed=3)])(
        tf.distributions.Normal([0.5, -1.0], [1.0, 2.0])),
    distributions__kl_divergence=lambda tf: [tf.distributions.kl_divergence(
        tf.distributions.Normal(0.5, 1.0), tf.distributions.Normal([0.0, 1.0], 2.0))],
    distributions__Bernoulli=lambda tf: (lambda d: [d.mean(), d.log_prob([1, 0]), d.entropy(), d.variance()])(
        tf.distributions.Bernoulli(logits=[0.3, -1.0])),
    distributions__Categorical=lambda tf: (lambda d: [d.log_prob([1, 2, 0]), d.entropy(), d.mode()])(
        tf.distributions.Categorical(logits=X)),
    distributions__Uniform=lambda tf: (lambda d: [d.mean(), d.log_prob(1.5), d.entropy(), d.cdf(1.5)])(
        tf.distributions.Uniform(1.0, 3.0)),
    train__exponential_decay=lambda tf: [tf.train.exponential_decay(0.1, 7, 3, 0.5),
                                         tf.train.exponential_decay(0.1, 7, 3, 0.5, staircase=True)],
    train__polynomial_decay=lambda tf: [tf.train.polynomial_decay(0.1, 7, 10, power=2.0)],
    keras__initializers__glorot_uniform=lambda tf: [tf.keras.initializers.glorot_uniform(seed=3)([2, 3])],
    keras__initializers__glorot_normal=lambda tf: [tf.keras.initializers.glorot_normal(seed=3)([2, 3])],
    contrib__layers__xavier_initializer=lambda tf: [tf.contrib.layers.xavier_initializer(seed=3)([2, 3])],
    contrib__layers__variance_scaling_initializer=lambda tf: [
        tf.contrib.layers.variance_scaling_initializer(seed=3)([2, 3, 4, 2])],
    orthogonal_initializer=lambda tf: [tf.orthogonal_initializer(seed=3)([4, 3]), tf.orthogonal_initializer(2.0, seed=3)([2, 3])],
    uniform_unit_scaling_initializer=lambda tf: [tf.uniform_unit_scaling_initializer(seed=3)([2, 3])],
    constant_initializer=lambda tf: [tf.constant_initializer([1, 2, 3])([2, 3])],
    truncated_normal_initializer=lambda tf: [tf.truncated_normal_initializer(stddev=0.1, seed=3)([3])],
    random_normal_initializer=lambda tf: [tf.random_normal_initializer(seed=3)([3])],
    random_uniform_initializer=lambda tf: [tf.random_uniform_initializer(-1, 1, seed=3)([3])],
    contrib__seq2seq__sequence_loss=lambda tf: [
        tf.contrib.seq2seq.sequence_loss(tf.constant(numbers(2, 3, 4)), tf.constant([[0, 1, 2], [3, 0, 1]]),
                                         tf.constant([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])),
        tf.contrib.seq2seq.sequence_loss(tf.constant(numbers(2, 3, 4)), tf.constant([[0, 1, 2], [3, 0, 1]]),
                                         tf.constant([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), average_across_batch=False)],
    quantization__fake_quant_with_min_max_args=lambda tf: [tf.quantization.fake_quant_with_min_max_args(X, -0.5, 0.5)])

values(
    image__per_image_standardization=lambda tf: [tf.image.per_image_standardization(IMAGE[0])],
    image__resize_image_with_crop_or_pad=lambda tf: [tf.image.resize_image_with_crop_or_pad(IMAGE, 3, 8),
                                                     tf.image.resize_image_with_crop_or_pad(IMAGE[0], 6, 5)],
    image__resize_images=lambda tf: [tf.image.resize_images(IMAGE, [2, 3]), tf.image.resize_images(IMAGE[0], [3, 3], method=1)],
    image__random_flip_left_right=lambda tf: [tf.image.random_flip_left_right(IMAGE[0], seed=3)],
    image__random_brightness=lambda tf: [tf.image.random_brightness(IMAGE[0], 10, seed=3)],
    image__random_contrast=lambda tf: [tf.image.random_contrast(IMAGE[0], 0.5, 1.5, seed=3)],
    image__adjust_brightness=lambda tf: [tf.image.adjust_brightness(IMAGE, 3), tf.image.adjust_brightness(
        np.array([[[250, 3, 9]]], np.uint8), 0.1)],
    image__adjust_contrast=lambda tf: [tf.image.adjust_contrast(IMAGE, 2.0)],
    image__flip_left_right=lambda tf: [tf.image.flip_left_right(IMAGE), tf.image.flip_up_down(IMAGE[0])],
    image__transpose_image=lambda tf: [tf.image.transpose_image(IMAGE[0]), tf.image.rot90(IMAGE[0], 3)],
    image__central_crop=lambda tf: [tf.image.central_crop(IMAGE[0], 0.5)],
    image__crop_to_bounding_box=lambda tf: [tf.image.crop_to_bounding_box(IMAGE, 1, 2, 3, 2)],
    image__pad_to_bounding_box=lambda tf: [tf.image.pad_to_bounding_box(IMAGE[0], 1, 2, 6, 9)],
    image__rgb_to_grayscale=lambda tf: [tf.image.rgb_to_grayscale(tf.constant(IMAGE)), tf.image.grayscale_to_rgb(tf.constant(IMAGE[..., :1]))],
    image__convert_image_dtype=lambda tf: [tf.image.convert_image_dtype(np.array([0, 128, 255], np.uint8), tf.float32),
                                           tf.image.convert_image_dtype([0.0, 0.5, 1.0], tf.uint8)],
    image__total_variation=lambda tf: [tf.image.total_variation(tf.constant(IMAGE))])

values(
    meshgrid=lambda tf: [*tf.meshgrid([1, 2], [3, 4, 5]), *tf.meshgrid([1, 2], [3, 4, 5], indexing="ij")],
    norm=lambda tf: [tf.norm(X), tf.norm(X, ord=1, axis=1), tf.norm(X, ord=np.inf, axis=0, keepdims=True), tf.norm(X, 3, 1)],
    eye=lambda tf: [tf.eye(2, 3), tf.eye(2, batch_shape=[2])], trace=lambda tf: [tf.trace(SQUARE)],
    svd=lambda tf: [tf.svd(SQUARE, compute_uv=False)], linalg__inv=lambda tf: [tf.linalg.inv(SQUARE)],
    nn__sufficient_statistics=lambda tf: list(tf.nn.sufficient_statistics(X, [0]))[:3],
    nn__weighted_moments=lambda tf: list(tf.nn.weighted_moments(X, [0], np.array([[1.0], [2.0], [0.5]], np.float32))),
    nn__log_poisson_loss=lambda tf: [tf.nn.log_poisson_loss(tf.abs(X), Y), tf.nn.log_poisson_loss(tf.abs(X) * 5, Y, True)],
    nn__embedding_lookup_sparse=lambda tf: [tf.nn.embedding_lookup_sparse(
        tf.constant(X), tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 2, 1], tf.int64), [2, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 3.0, 2.0], [2, 2]), combiner=c) for c in ("sum", "mean", "sqrtn")],
    nn__log_uniform_candidate_sampler=lambda tf: list(tf.nn.log_uniform_candidate_sampler(
        tf.constant([[1], [2]], tf.int64), 1, 4, True, 20, seed=3)),
    contrib__layers__l2_regularizer=lambda tf: [tf.contrib.layers.l2_regularizer(0.5)(tf.constant(X)),
                                                tf.contrib.layers.l1_l2_regularizer(0.5, 0.1)(tf.constant(X))],
    fixed_size_partitioner=lambda tf: (lambda v: [tf.convert_to_tensor(v), *sorted(p.name for p in tf.global_variables())])(
        tf.get_variable("p", [5, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2))),
    contrib__training__HParams=lambda tf: (lambda h: [str(h.parse("a=3,b=[4,5],c=x")), h.to_json(sort_keys=True)])(
        tf.contrib.training.HParams(a=1, b=[1.0, 2.0], c="text")),
    summary__scalar=lambda tf: [tf.summary.scalar("a b", 1.5).name, tf.summary.scalar("a b", 2.5)],
    summary__histogram=lambda tf: [tf.summary.histogram("h", X)], summary__image=lambda tf: [
        tf.summary.image("i", IMAGE).name],
    summary__merge=lambda tf: [tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)])],
    summary__merge_all=lambda tf: [tf.summary.merge_all() is None])


def fails(tf, build):
    """The class and the beginning of what is said when a graph is built or run."""
    try:
        if tf.executing_eagerly():
            build()
            return "fine"
        with tf.Session() as session:
            session.run(build())
    except Exception as error:
        return type(error).__name__
    return "fine"


values(
    assert_less_equal=lambda tf: [fails(tf, lambda: tf.assert_less_equal([1, 2], [1, 3])),
                                  fails(tf, lambda: tf.assert_less_equal([1, 4], [1, 3])),
                                  fails(tf, lambda: tf.assert_less_equal(tf.cast(X * 3, tf.int32), 1))],
    assert_positive=lambda tf: [fails(tf, lambda: tf.assert_positive([1.0, 2.0])), fails(tf, lambda: tf.assert_positive([0.0])),
                                fails(tf, lambda: tf.assert_positive(tf.exp(tf.constant(X)))),
                                fails(tf, lambda: tf.assert_positive(tf.sin(tf.constant(X) * 9)))],
    assert_rank=lambda tf: [fails(tf, lambda: tf.assert_rank(X, 2)), fails(tf, lambda: tf.assert_rank(X, 1)),
                            fails(tf, lambda: tf.assert_rank(tf.placeholder_with_default(X, None), 1)),
                            fails(tf, lambda: tf.assert_rank_at_least(X, 3)), fails(tf, lambda: tf.assert_rank_in(X, [1, 2]))],
    assert_type=lambda tf: [fails(tf, lambda: tf.assert_type(tf.constant(X), tf.float32)), fails(tf, lambda: tf.assert_type(
        tf.constant(X), tf.int32)), fails(tf, lambda: tf.assert_integer(X))],
    assert_near=lambda tf: [fails(tf, lambda: tf.debugging.assert_near(X, X + 1e-7)), fails(tf, lambda: tf.debugging.assert_near(
        X, Y))],
    is_strictly_increasing=lambda tf: [tf.is_strictly_increasing([1, 2, 2]), tf.is_non_decreasing([1, 2, 2]),
                                       tf.is_strictly_increasing([1.0])],
    contrib__framework__nest__map_structure=lambda tf: [tf.contrib.framework.nest.map_structure(
        lambda a, b: a + b, {"a": [1, 2]}, {"a": [10, 20]})["a"][1], int(tf.contrib.framework.nest.is_sequence([1]))],
    contrib__learn__ModeKeys=lambda tf: [tf.contrib.learn.ModeKeys.INFER, tf.estimator.ModeKeys.PREDICT],
    initialize_all_variables=lambda tf: [len(tf.all_variables()), tf.initialize_all_variables().name])
