# SPDX-License-Identifier: Apache-2.0
"""Classes that are drawn, and losses of these instead of all."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.nn import loss_functions
from thalweg.nn.embeddings import embedding_lookup
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import PathLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _sampler(op):
    def sample(true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
               name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        first, second = random_ops._seeds(seed).values()
        return apply(op, [true_classes], dict(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
                                              seed=first, seed2=second), name=name)
    sample.__doc__ = "(classes, expected counts of the true ones, expected counts of the classes)."
    return sample


uniform_candidate_sampler = _sampler("UniformCandidateSampler")
log_uniform_candidate_sampler = _sampler("LogUniformCandidateSampler")
learned_unigram_candidate_sampler = _sampler("LearnedUnigramCandidateSampler")


def all_candidate_sampler(true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, seed: int | None = None,
                          name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """All classes, as the samplers give theirs."""
    first, second = random_ops._seeds(seed).values()
    return apply("AllCandidateSampler", [true_classes],
                 dict(num_true=num_true, num_sampled=num_sampled, unique=unique, seed=first, seed2=second), name=name)


def fixed_unigram_candidate_sampler(true_classes: TensorLike, num_true: int, num_sampled: int, unique: bool, range_max: int,
                                    vocab_file: PathLike = "", distortion: float = 1.0, num_reserved_ids: int = 0,
                                    num_shards: int = 1, shard: int = 0, unigrams: Sequence[float] = (), seed: int | None = None,
                                    name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Classes drawn by given frequencies, from a file or a list."""
    first, second = random_ops._seeds(seed).values()
    return apply("FixedUnigramCandidateSampler", [true_classes],
                 dict(num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
                      distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
                      unigrams=list(unigrams), seed=first, seed2=second), name=name)


def compute_accidental_hits(true_classes: TensorLike, sampled_candidates: TensorLike, num_true: int, seed: int | None = None,
                            name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
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
    rows = embedding_lookup(weights, ids, partition_strategy=partition_strategy)
    all_biases = embedding_lookup(biases, ids, partition_strategy=partition_strategy)
    count, size = array_ops.shape(flat)[0], rows.shape._size(1)
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


def nce_loss(weights: TensorLike, biases: TensorLike, labels: TensorLike, inputs: TensorLike, num_sampled: int, num_classes: int,
             num_true: int = 1, sampled_values: Sequence[TensorLike] | None = None, remove_accidental_hits: bool = False,
             partition_strategy: str = "mod", name: str = "nce_loss") -> Tensor:
    """Noise-contrastive estimation: a logistic loss of the true classes and of some drawn ones, for each row.

    It is for training with many classes; a softmax over all of them is what tests and predictions take.

    Parameters
    ----------
    weights : tensor_like or Variable or sequence of these
        Embeddings of the classes, [classes, size], or the parts of them.
    biases : tensor_like
        Of shape [classes].
    labels : tensor_like
        Numbers of the true classes, [batch, num_true].
    inputs : tensor_like
        Of shape [batch, size].
    num_sampled : int
        How many classes are drawn for a batch.
    num_classes : int
        How many classes there are.
    num_true : int
        How many true classes a row has.
    sampled_values : tuple of Tensor, optional
        What a candidate sampler gave; of log_uniform_candidate_sampler by default.
    remove_accidental_hits : bool
        Whether drawn classes that are true ones of a row do not count for it.
    partition_strategy : str
        How the rows of several weights lie: "mod" or "div".
    name : str
        Name of the scope.

    Returns
    -------
    Tensor
        A loss for each row, [batch].

    Raises
    ------
    ValueError
        Where the rows of `weights` and `inputs` differ in size.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     loss = tw.nn.nce_loss(weights=tw.zeros([10, 4]), biases=tw.zeros([10]), labels=tw.constant([[3], [7]]),
    ...                           inputs=tw.ones([2, 4]), num_sampled=5, num_classes=10)
    ...     sess.run(loss).shape
    (2,)
    """
    with name_scope(name, "nce_loss"):
        logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                          True, remove_accidental_hits, partition_strategy, None)
        losses = loss_functions.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
        return math_ops.reduce_sum(losses, 1)


def sampled_softmax_loss(weights: TensorLike, biases: TensorLike, labels: TensorLike, inputs: TensorLike, num_sampled: int,
                         num_classes: int, num_true: int = 1, sampled_values: Sequence[TensorLike] | None = None,
                         remove_accidental_hits: bool = True, partition_strategy: str = "mod", name: str = "sampled_softmax_loss",
                         seed: int | None = None) -> Tensor:
    """A softmax loss over the true classes and some drawn ones, for each row.

    It is for training with many classes; a softmax over all of them is what tests and predictions take.

    Parameters
    ----------
    weights : tensor_like or Variable or sequence of these
        Embeddings of the classes, [classes, size], or the parts of them.
    biases : tensor_like
        Of shape [classes].
    labels : tensor_like
        Numbers of the true classes, [batch, num_true].
    inputs : tensor_like
        Of shape [batch, size].
    num_sampled : int
        How many classes are drawn for a batch.
    num_classes : int
        How many classes there are.
    num_true : int
        How many true classes a row has.
    sampled_values : tuple of Tensor, optional
        What a candidate sampler gave; of log_uniform_candidate_sampler by default.
    remove_accidental_hits : bool
        Whether drawn classes that are true ones of a row do not count for it.
    partition_strategy : str
        How the rows of several weights lie: "mod" or "div".
    name : str
        Name of the scope.
    seed : int, optional
        Seed of what is drawn.

    Returns
    -------
    Tensor
        A loss for each row, [batch].

    Examples
    --------
    >>> loss = tw.nn.sampled_softmax_loss(weights=tw.zeros([10, 4]), biases=tw.zeros([10]), labels=tw.constant([[3], [7]]),
    ...                                   inputs=tw.ones([2, 4]), num_sampled=5, num_classes=10)
    >>> with tw.Session() as sess:
    ...     sess.run(loss).shape
    (2,)
    """
    with name_scope(name, "sampled_softmax_loss"):
        logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                          True, remove_accidental_hits, partition_strategy, seed)
        return loss_functions.softmax_cross_entropy_with_logits_v2(labels=array_ops.stop_gradient(targets), logits=logits)
