# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.factorization.KMeans by mini-batches, beside numpy: 1.15 reads the counts sometimes before and sometimes after it has
added to them, so its results differ from run to run. The rest is in symbol_used.py."""
import numpy as np
import pytest
import thalweg as tw


def _batches():
    random = np.random.RandomState(3)
    return [(random.randn(12, 2) + 6 * random.randint(0, 2, (12, 1))).astype(np.float32) for _ in range(5)]


@pytest.mark.parametrize("parts", [1, 2])
def test_mini_batches(parts):
    batches = _batches()
    points = tw.placeholder(tw.float32, [None, 2])
    start = np.array([[0, 1], [4, 4], [90, 90]], np.float32)  # the last one never has a point
    _, nearest, _, initialized, init, train = tw.contrib.factorization.KMeans(
        points if parts == 1 else [points[:5], points[5:]], 3, initial_clusters=tw.constant(start), use_mini_batch=True).training_graph()
    centers, seen = start.astype(float), np.ones(3)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(init, {points: batches[0]})
        assert session.run(initialized)
        for batch in batches:
            chosen, _ = session.run([tw.concat(nearest, 0), train], {points: batch})
            wanted = np.argmin(((batch[:, None] - centers) ** 2).sum(2), 1)
            assert chosen.tolist() == wanted.tolist()
            for k in set(wanted):
                new = batch[wanted == k]
                seen[k] += len(new)
                centers[k] += (new - centers[k]).sum(0) / seen[k]
            np.testing.assert_allclose(session.run(tw.global_variables()[0]), centers, rtol=1e-5)


@pytest.mark.parametrize("steps, distance", [(2, "squared_euclidean"), (3, "squared_euclidean"), (2, "cosine"), (3, "cosine")])
def test_several_mini_batches_an_iteration(steps, distance):
    """The centers that points are compared with stay for so many steps; 1.15 has the same variables."""
    def lengths_of_one(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True) if distance == "cosine" else x

    points, start = tw.placeholder(tw.float32, [None, 2]), np.array([[0, 1], [4, 4], [-9, -8]], np.float32)
    _, (nearest,), _, initialized, init, train = tw.contrib.factorization.KMeans(
        points, 3, initial_clusters=tw.constant(start), distance_metric=distance, use_mini_batch=True,
        mini_batch_steps_per_iteration=steps).training_graph()
    kept = tw.global_variables()
    assert [v.op.name for v in kept] == ["clusters", "initialized", "clusters_updated", "update_in_steps", "Variable"]
    centers = lengths_of_one(start.astype(float))
    moved, seen = centers.copy(), np.zeros(3)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(init, {points: np.ones([3, 2])})
        assert session.run(initialized)
        for step, batch in enumerate(_batches() * 2):
            chosen, _ = session.run([nearest, train], {points: batch})
            batch = lengths_of_one(batch.astype(float))
            wanted = np.argmin(((batch[:, None] - centers) ** 2).sum(2), 1)
            assert chosen.tolist() == wanted.tolist()
            if step and step % steps == 0:
                centers, seen = lengths_of_one(moved.copy()), np.zeros(3)
            for k in set(wanted):
                new = batch[wanted == k]
                seen[k] += len(new)
                moved[k] += (new - moved[k]).sum(0) / seen[k]
            found = session.run(kept)
            np.testing.assert_allclose(found[0], centers, rtol=2e-5)
            np.testing.assert_allclose(found[2], moved, rtol=2e-5)
            assert found[3] == steps - 1 - step % steps and found[4].tolist() == seen.tolist()


def test_a_missing_name_says_so():
    with pytest.raises(NotImplementedError, match="tf.contrib.factorization.GMM of TensorFlow 1.15 is not implemented"):
        tw.contrib.factorization.GMM(2)
