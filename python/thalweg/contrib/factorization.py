# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.factorization: k-means as nodes of a graph.

Centers are a variable that has no rows until the initial step has run; each of its runs adds rows until there are enough.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.base import names
from thalweg.control.control_flow import cond
from thalweg.graph import ops
from thalweg.graph.graph import control_dependencies, name_scope
from thalweg.graph.ops import apply, convert_to_tensor, group
from thalweg.operations import array_ops, math_ops, random_ops
from thalweg.variables import scattering, variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variables import Variable

RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT = "random", "kmeans_plus_plus", "kmc2"
SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"


class KMeans:
    """Finds the centers of clusters of points. training_graph() gives what measures, initializes and trains them.

    Parameters
    ----------
    inputs : matrix of floats, or list of such
        A point a row.
    num_clusters : int, or scalar integer tensor
    initial_clusters : str, matrix, or callable of (inputs, number)
        "random", "kmeans_plus_plus" or "kmc2"; or the centers themselves.
    distance_metric : str
        "squared_euclidean" or "cosine".
    use_mini_batch : bool
        Whether a step sees a part of the points only.
    mini_batch_steps_per_iteration : int
        After how many such steps centers move.
    random_seed : int
    kmeans_plus_plus_num_retries : int
        How many points are tried for a center.
    kmc2_chain_length : int
        How many points are looked at for a center.

    Examples
    --------
    >>> points = tw.constant([[0.0], [1.0], [10.0], [11.0]])
    >>> kmeans = tw.contrib.factorization.KMeans(points, 2, initial_clusters=[[0.0], [10.0]])
    >>> scores, indices, _, ready, initialize, train = kmeans.training_graph()
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     _ = sess.run([initialize])
    ...     _ = sess.run(train)
    ...     print(sess.run(indices)[0])
    [0 0 1 1]
    """

    def __init__(self, inputs: TensorLike | Sequence[TensorLike], num_clusters: int,
                 initial_clusters: str | TensorLike | Callable[..., TensorLike] = RANDOM_INIT,
                 distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE, use_mini_batch: bool = False,
                 mini_batch_steps_per_iteration: int = 1, random_seed: int = 0, kmeans_plus_plus_num_retries: int = 2,
                 kmc2_chain_length: int = 200) -> None:
        if isinstance(initial_clusters, str) and initial_clusters not in (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT):
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        inputs = inputs if isinstance(inputs, list) else [inputs]
        self._inputs, self._cosine = inputs, distance_metric == COSINE_DISTANCE
        self._num_clusters, self._initial = num_clusters, initial_clusters
        self._mini_batch, self._steps = use_mini_batch, mini_batch_steps_per_iteration if use_mini_batch else 1
        self._seed, self._retries, self._chain = random_seed, kmeans_plus_plus_num_retries, kmc2_chain_length

    def training_graph(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...], Variable, Operation, Operation]:
        """(all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, training_op): distances of each point to all
        centers, its nearest center and the distance to that, by inputs; whether there are enough centers; what adds some;
        what moves them."""
        count = convert_to_tensor(self._num_clusters)
        empty = ops.constant([], dtypes.float32)
        centers = variables.Variable(empty, name="clusters", validate_shape=False)
        initialized = variables.Variable(False, dtype=dtypes.bool, name="initialized")
        updated = left = counts = None
        if self._steps > 1:
            updated = variables.Variable(empty, name="clusters_updated", validate_shape=False)
            left = variables.Variable(self._steps, dtype=dtypes.int64, name="update_in_steps")
        if self._mini_batch:
            start = array_ops.ones if left is None else array_ops.zeros
            counts = variables.Variable(start(array_ops.reshape(count, [1]), dtypes.int64))
        init_op = _Initialization(self, count, [centers] if left is None else [centers, updated], initialized).op()
        points = [convert_to_tensor(x) for x in self._inputs]
        if self._cosine:
            points = [nn.l2_normalize(x, 1) for x in points]
        shorter = self._cosine and left is None  # mini-batches leave the centers shorter than 1
        measured = nn.l2_normalize(centers, 1) if shorter else centers
        all_scores, nearest, scores = [], [], []
        for x in points:
            index, distance = apply("NearestNeighbors", [x, measured, ops.constant(1, dtypes.int64)])
            all_scores.append(self._distances(x, measured))
            nearest.append(array_ops.squeeze(index, [-1]))
            scores.append(array_ops.squeeze(distance * 0.5 if self._cosine else distance, [-1]))
        if left is not None:
            with control_dependencies([self._new_iteration(nearest, centers, updated, left, counts)]):
                train = self._mini_batch_step(points, nearest, updated, counts)
        elif self._mini_batch:
            train = self._mini_batch_step(points, nearest, centers, counts)
        else:
            train = self._whole_step(points, nearest, centers, count)
        return tuple(all_scores), tuple(nearest), tuple(scores), initialized, init_op, train

    def _distances(self, x, centers):
        """Of each point to each center."""
        centers = convert_to_tensor(centers)
        products = math_ops.matmul(x, centers, transpose_b=True)
        if self._cosine:
            return 1.0 - products
        return math_ops.reduce_sum(x * x, 1, keepdims=True) - 2.0 * products + \
            array_ops.transpose(math_ops.reduce_sum(centers * centers, 1, keepdims=True))

    def _whole_step(self, points, nearest, centers, count):
        """Each center becomes the mean of its points."""
        sums = [math_ops.unsorted_segment_sum(x, i, count) for x, i in zip(points, nearest)]
        sizes = [math_ops.unsorted_segment_sum(array_ops.ones_like(array_ops.reshape(x[:, 0], [-1, 1])), i, count)
                 for x, i in zip(points, nearest)]
        means = math_ops.add_n(sums) / (math_ops.add_n(sizes) + 1e-6)  # a center without points goes to the origin
        return variables.assign(centers, nn.l2_normalize(means, 1) if self._cosine else means)

    def _new_iteration(self, nearest, centers, updated, left, counts):
        """Counts a step; when the iteration's last one is over, the centers that points are compared with become those that the
        mini-batches have moved, and what these have seen is forgotten."""
        def begin():
            fresh = nn.l2_normalize(updated, 1) if self._cosine else updated.value()
            with control_dependencies([variables.assign(centers, fresh), variables.assign(counts, array_ops.zeros_like(counts))]):
                return array_ops.identity(variables.assign(left, self._steps - 1))

        with control_dependencies(nearest):  # which compare with the centers that the step has found
            return cond(left.read_value() <= 0, begin, lambda: array_ops.identity(variables.assign_sub(left, 1)))

    def _mini_batch_step(self, points, nearest, centers, counts):
        """Each center moves towards its new points by the share that they are of all it has seen (Sculley 2010)."""
        x, index = array_ops.concat(points, 0), array_ops.concat(nearest, 0)
        ids, places = array_ops.unique(index)
        new = math_ops.unsorted_segment_sum(array_ops.ones_like(places, dtypes.int64), places, array_ops.size(ids))
        sums = math_ops.unsorted_segment_sum(x, places, array_ops.size(ids))
        seen = array_ops.gather(counts.read_value(), ids)
        wide = array_ops.reshape(math_ops.cast(new, x.dtype), [-1, 1])
        share = array_ops.reshape(1.0 / math_ops.cast(seen + new, x.dtype), [-1, 1])
        change = (sums - wide * array_ops.gather(centers.read_value(), ids)) * share
        with control_dependencies([change]):  # which has read both
            return group(scattering.scatter_add(counts, ids, new), scattering.scatter_add(centers, ids, change))


class _Initialization:
    """The step that fills the centers."""

    def __init__(self, model, count, copies, initialized):
        """`copies` are the variables that hold the centers."""
        self._model, self._count, self._copies, self._initialized = model, count, copies, initialized

    def op(self):
        initial, points = self._model._initial, self._model._inputs[0].dtype
        with name_scope("initialization"):
            if isinstance(initial, str):
                return cond(self._initialized, self._already, self._add_some)
            if callable(initial):
                initial = initial(self._model._inputs, self._count)
            initial = convert_to_tensor(initial, preferred_dtype=points)
            initial.shape.assert_has_rank(2)
            return cond(self._initialized, self._already, lambda: self._finish(self._set(initial)))

    def _already(self):
        return array_ops.identity(True)

    def _set(self, value):
        if self._model._cosine:
            value = nn.l2_normalize(value, 1)
        for copy in self._copies:
            value = variables.assign(copy, value, validate_shape=False)
        return value

    def _finish(self, value):
        with control_dependencies([value]):
            return array_ops.identity(variables.assign(self._initialized, True))

    def _add_some(self):
        """As many new centers as there are points, at most as many as are missing; one by chains."""
        points = [convert_to_tensor(x) for x in self._model._inputs]
        if self._model._cosine:
            points = [nn.l2_normalize(x, 1) for x in points]
        old = self._copies[0].value()
        present = array_ops.shape(old)[0]
        rows = math_ops.add_n([array_ops.shape(x, out_type=dtypes.int64)[0] for x in points])
        number = apply("Minimum", [math_ops.cast(self._count - present, dtypes.int64), rows])
        whole = cond(math_ops.equal(present, 0), lambda: self._draw(points, rows, number, None),
                     lambda: array_ops.concat([old, self._draw(points, rows, number, old)], 0))
        whole = self._set(whole)
        return cond(math_ops.equal(array_ops.shape(whole)[0], self._count), lambda: self._finish(whole),
                    lambda: array_ops.identity(False))

    def _draw(self, points, rows, number, old):
        """New centers from the points; `old` are those that there are, None for none."""
        model, seed = self._model, ops.constant(self._model._seed, dtypes.int64)
        if model._initial == KMEANS_PLUS_PLUS_INIT:
            return apply("KmeansPlusPlusInitialization", [points[0], number, seed, ops.constant(model._retries, dtypes.int64)])
        if model._initial == RANDOM_INIT:
            chosen = random_ops.random_uniform(array_ops.reshape(number, [-1]), minval=0, maxval=rows, dtype=dtypes.int64,
                                               seed=model._seed)
            return nn.embedding_lookup(points, chosen, partition_strategy="div")
        if old is None:
            return points[0][:1]
        chain = points[0][:model._chain]
        _, distances = apply("NearestNeighbors", [chain, old, ops.constant(1, dtypes.int64)])
        last = apply("KMC2ChainInitialization", [array_ops.squeeze(distances, [1]), seed])
        return array_ops.gather(chain, array_ops.reshape(last, [1]))


names.complete(globals())
