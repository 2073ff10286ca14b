# SPDX-License-Identifier: Apache-2.0
"""Functions of tw.nn over several operations: convolution and pooling of any rank, moments, sampled losses, embeddings."""
from thalweg import array_ops, dtypes, math_ops, nn, ops, random_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, convert_to_tensor


def _channels_first(data_format):
    return data_format is not None and data_format.startswith("NC")


def _layout(rank, data_format):
    return ({2: "NHWC", 3: "NDHWC"}, {2: "NCHW", 3: "NCDHW"})[_channels_first(data_format)][rank]


def _each(values, rank):
    return [1] * rank if values is None else [int(values)] * rank if isinstance(values, int) else [int(v) for v in values]


def convolution(input, filter, padding, strides=None, dilation_rate=None, name=None, data_format=None,  # noqa: A002
                filters=None, dilations=None):
    """A convolution of one, two or three dimensions, as the filter says."""
    filters = filter if filters is None else filters
    with name_scope(name, "convolution", [input, filters]) as scope:
        x, filters = convert_to_tensor(input, name="input"), convert_to_tensor(filters, name="filter")
        rank = filters.shape.ndims - 2
        steps = _each(strides, rank)
        rates = _each(dilation_rate if dilations is None else dilations, rank)
        if any(s > 1 for s in steps) and any(r > 1 for r in rates):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if rank == 1:
            return nn.conv1d(x, filters, steps[0], padding, data_format="NCW" if _channels_first(data_format) else "NWC",
                             dilations=rates[0], name=scope)
        convolve = nn.conv2d if rank == 2 else nn.conv3d

        def around(v):
            return [1, 1, *v] if _channels_first(data_format) else [1, *v, 1]
        return convolve(x, filters, around(steps), padding, data_format=_layout(rank, data_format), dilations=around(rates),
                        name=scope)


def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None,  # noqa: A002
         data_format=None, dilations=None):
    """The largest or the mean of each window of one, two or three dimensions."""
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        x, rank = convert_to_tensor(input, name="input"), len(window_shape)
        if any(r != 1 for r in _each(dilation_rate if dilations is None else dilations, rank)):
            raise NotImplementedError("pool with a dilation_rate is not there yet")
        if pooling_type not in ("MAX", "AVG"):
            raise ValueError(f"pooling_type must be either MAX or AVG, got {pooling_type}")
        window, steps = list(window_shape), _each(strides, rank)
        axis = 3 if _channels_first(data_format) else 2
        if rank == 1:
            x, window, steps = array_ops.expand_dims(x, axis), [*window, 1], [*steps, 1]
        pools = {(2, "MAX"): nn.max_pool, (2, "AVG"): nn.avg_pool, (3, "MAX"): nn.max_pool3d, (3, "AVG"): nn.avg_pool3d}

        def around(v):
            return [1, 1, *v] if _channels_first(data_format) else [1, *v, 1]
        y = pools[max(rank, 2), pooling_type](x, around(window), around(steps), padding,
                                              data_format=_layout(max(rank, 2), data_format), name=scope)
        return array_ops.squeeze(y, [axis]) if rank == 1 else y


# ---- moments ----
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """(count, sum, sum of squares, shift) over axes."""
    axes, keep = list(dict.fromkeys(axes)), bool(keep_dims if keepdims is None else keepdims)
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        sizes = [x.shape[a].value for a in axes] if x.shape.ndims is not None else [None]
        if None in sizes:
            counts = math_ops.reduce_prod(array_ops.gather(array_ops.shape(x), axes))
            counts = math_ops.cast(counts, x.dtype.base_dtype, name="count")
        else:
            total = 1
            for s in sizes:
                total *= s
            counts = ops.constant(total, x.dtype.base_dtype, name="count")
        moved = x if shift is None else x - convert_to_tensor(shift)
        squares = apply("Square", [x]) if shift is None else apply("SquaredDifference", [x, convert_to_tensor(shift)])
        return (counts, math_ops.reduce_sum(moved, axes, keepdims=keep, name="mean_ss"),
                math_ops.reduce_sum(squares, axes, keepdims=keep, name="var_ss"), shift)


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """(mean, variance) of sufficient statistics."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        mean_ss = convert_to_tensor(mean_ss)
        divisor = apply("Reciprocal", [convert_to_tensor(counts, dtype=mean_ss.dtype.base_dtype)], name="divisor")
        shifted = mean_ss * divisor
        mean = shifted if shift is None else shifted + shift
        return mean, convert_to_tensor(variance_ss) * divisor - apply("Square", [shifted])


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) where elements count as often as their weights say."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        x = convert_to_tensor(x, name="x")
        weights = math_ops.cast(convert_to_tensor(frequency_weights), x.dtype.base_dtype)
        weighted = weights * x
        weights = weights + array_ops.zeros_like(x)
        total = math_ops.reduce_sum(weights, axes, keepdims=True)
        mean = math_ops.reduce_sum(weighted, axes, keepdims=True) / total
        variance = math_ops.reduce_sum(weights * apply("SquaredDifference", [x, mean]), axes, keepdims=True) / total
        if keep:
            return mean, variance
        axes = [axes] if isinstance(axes, int) else list(axes)
        return array_ops.squeeze(mean, axes), array_ops.squeeze(variance, axes)


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """The loss of counts under a Poisson distribution whose log mean is log_input."""
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input, targets = convert_to_tensor(log_input), convert_to_tensor(targets)
        loss = apply("Exp", [log_input]) - log_input * targets
        if compute_full_loss:
            import math
            stirling = targets * apply("Log", [targets]) - targets + 0.5 * apply("Log", [2 * math.pi * targets])
            small = apply("LogicalAnd", [targets >= 0, targets <= 1])
            loss += apply("Select", [small, array_ops.zeros_like(targets), stirling])
        return loss


# ---- sampled losses ----
def _sampler(op):
    def sample(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        first, second = random_ops._seeds(seed).values()
        return apply(op, [true_classes], dict(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
                                              seed=first, seed2=second), name=name)
    sample.__doc__ = "(classes, expected counts of the true ones, expected counts of the classes)."
    return sample


uniform_candidate_sampler = _sampler("UniformCandidateSampler")
log_uniform_candidate_sampler = _sampler("LogUniformCandidateSampler")
learned_unigram_candidate_sampler = _sampler("LearnedUnigramCandidateSampler")


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes, as the samplers give theirs."""
    first, second = random_ops._seeds(seed).values()
    return apply("AllCandidateSampler", [true_classes],
                 dict(num_true=num_true, num_sampled=num_sampled, unique=unique, seed=first, seed2=second), name=name)


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0,
                                    num_reserved_ids=0, num_shards=1, shard=0, unigrams=(), seed=None, name=None):
    """Classes drawn by given frequencies, from a file or a list."""
    first, second = random_ops._seeds(seed).values()
    return apply("FixedUnigramCandidateSampler", [true_classes],
                 dict(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
                      distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
                      unigrams=list(unigrams), seed=first, seed2=second), name=name)


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """(rows, places, weights) where a sampled class is a true one."""
    first, second = random_ops._seeds(seed).values()
    return apply("ComputeAccidentalHits", [true_classes, sampled_candidates],
                 {"num_true": num_true, "seed": first, "seed2": second}, name=name)


def _without_hits(logits, labels, sampled):
    """Sampled logits, lowest where the class is a true one of the row."""
    equal = math_ops.equal(array_ops.expand_dims(labels, 2), array_ops.reshape(sampled, [1, 1, -1]))
    hits = math_ops.cast(math_ops.reduce_any(equal, 1), logits.dtype.base_dtype)
    return logits + hits * logits.dtype.base_dtype.min


def _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, subtract_log_q,
                    remove_accidental_hits, partition_strategy, seed):
    """(logits, labels): true classes first, then the sampled ones."""
    labels = math_ops.cast(convert_to_tensor(labels), dtypes.int64)
    flat = array_ops.reshape(labels, [-1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed=seed)
    sampled, true_counts, sampled_counts = (array_ops.stop_gradient(s) for s in sampled_values)
    sampled = math_ops.cast(sampled, dtypes.int64)
    ids = array_ops.concat([flat, sampled], 0)
    rows = nn.embedding_lookup(weights, ids, partition_strategy=partition_strategy)
    all_biases = nn.embedding_lookup(biases, ids, partition_strategy=partition_strategy)
    count, size = array_ops.shape(flat)[0], rows.shape[1].value
    true_rows, sampled_rows = rows[:count], rows[count:]
    true_biases, sampled_biases = all_biases[:count], all_biases[count:]
    products = array_ops.expand_dims(inputs, 1) * array_ops.reshape(true_rows, [-1, num_true, size])
    true_logits = math_ops.reduce_sum(products, 2) + array_ops.reshape(true_biases, [-1, num_true])
    logits = math_ops.matmul(inputs, sampled_rows, transpose_b=True) + sampled_biases
    if remove_accidental_hits:
        logits = _without_hits(logits, labels, sampled)
    if subtract_log_q:
        true_logits -= apply("Log", [true_counts])
        logits -= apply("Log", [sampled_counts])
    targets = array_ops.concat([array_ops.ones_like(true_logits) / num_true, array_ops.zeros_like(logits)], 1)
    return array_ops.concat([true_logits, logits], 1), targets


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, partition_strategy="mod", name="nce_loss"):
    """Noise-contrastive estimation: a logistic loss of the true classes and of some drawn ones, for each row."""
    with name_scope(name, "nce_loss"):
        logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                          True, remove_accidental_hits, partition_strategy, None)
        losses = nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
        return math_ops.reduce_sum(losses, 1)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                         remove_accidental_hits=True, partition_strategy="mod", name="sampled_softmax_loss", seed=None):
    """A softmax loss over the true classes and some drawn ones, for each row."""
    with name_scope(name, "sampled_softmax_loss"):
        logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                          True, remove_accidental_hits, partition_strategy, seed)
        return nn.softmax_cross_entropy_with_logits_v2(labels=array_ops.stop_gradient(targets), logits=logits)


# ---- embeddings in parts ----
def lookup_in_parts(params, ids, partition_strategy, name):
    """Rows of an embedding that lies in several variables: id % parts, or in blocks ("div")."""
    count = len(params)
    with name_scope(name, "embedding_lookup", [ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        kind = ids.dtype.base_dtype
        flat = array_ops.reshape(ids, [-1])
        if partition_strategy == "mod":
            part, place = flat % count, flat // count
        elif partition_strategy == "div":
            sizes = [p.shape[0].value for p in params]
            if None in sizes:
                raise ValueError("embedding_lookup with \"div\" must know the first dimension of all parts")
            each, more = divmod(sum(sizes), count)
            edge = more * (each + 1)
            part = apply("Maximum", [flat // (each + 1), (flat - more) // max(each, 1)])
            inside = flat < edge
            place = apply("Select", [inside, flat % (each + 1), (flat - edge) % max(each, 1)])
        else:
            raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
        part = math_ops.cast(part, dtypes.int32)
        places = apply("DynamicPartition", [place, part], {"num_partitions": count})
        order = apply("DynamicPartition", [math_ops.range_(array_ops.size(flat)), part], {"num_partitions": count})
        found = [nn.rows_of(p, math_ops.cast(i, kind)) for p, i in zip(params, places)]
        merged = apply("DynamicStitch", [order, found])
        rest = found[0].shape[1:]
        shape = array_ops.concat([array_ops.shape(ids), array_ops.shape(found[0])[1:]], 0)
        merged = array_ops.reshape(merged, shape, name=scope)
        merged.set_shape(ids.shape.concatenate(rest))
        return merged


def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None):
    """Rows of an embedding, combined for each row of sparse ids: "sum", "mean", "sqrtn"."""
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    with name_scope(name, "embedding_lookup_sparse", [sp_ids]):
        segments = math_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, places = array_ops.unique(sp_ids.values)
        rows = nn.embedding_lookup(params, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            op = {"sum": "SparseSegmentSum", "mean": "SparseSegmentMean", "sqrtn": "SparseSegmentSqrtN"}[combiner]
            return apply(op, [rows, places, segments])
        weights = math_ops.cast(sp_weights.values, rows.dtype.base_dtype)
        weighted = array_ops.gather(rows, places) * array_ops.reshape(weights, [-1] + [1] * (rows.shape.ndims - 1))
        total = apply("SegmentSum", [weighted, segments])
        if combiner == "sum":
            return total
        sizes = apply("SegmentSum", [weights if combiner == "mean" else apply("Square", [weights]), segments])
        sizes = sizes if combiner == "mean" else apply("Sqrt", [sizes])
        return total / array_ops.reshape(sizes, [-1] + [1] * (rows.shape.ndims - 1))
