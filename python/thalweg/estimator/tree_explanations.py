# SPDX-License-Identifier: Apache-2.0
"""What a boosted ensemble says of its features: what each adds to an example's prediction, and what its splits gain in all."""
from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

from thalweg import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def sigmoid(logit: float) -> float:
    """The probability of a logit."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))


def identity(logit: float) -> float:
    """The logit, which is a regression's prediction."""
    return logit


def contributions(debug_output: bytes, names: Sequence[str], activation: Callable[[float], float]) -> tuple[float, dict[str, float]]:
    """The bias, and by how much each feature moves an example's prediction from there, the largest first.

    Parameters
    ----------
    debug_output : bytes
        A serialized DebugOutput: the features by which an example was split, and the logit before the first split and after each.
    names : sequence of str
        The names of features, by their ids; several ids of one name are one feature.
    activation : callable
        Makes a prediction of a logit.
    """
    path = getattr(messages, "boosted_trees.DebugOutput").FromString(debug_output)
    predictions = [activation(logit) for logit in path.logits_path]
    found = dict.fromkeys(names, 0.0)
    for feature, before, after in zip(path.feature_ids, predictions, predictions[1:]):
        found[names[feature]] += after - before
    return predictions[0], _sorted(found, key=abs)


def importances(ensemble: bytes, names: Sequence[str], normalize: bool) -> dict[str, float]:
    """What the splits of each feature gain, weighed as their trees are, the largest first.

    Parameters
    ----------
    ensemble : bytes
        A serialized TreeEnsemble.
    names : sequence of str
        The names of features, by their ids; several ids of one name are one feature.
    normalize : bool
        Whether they are divided by their sum.

    Raises
    ------
    ValueError
        If they are to be normalized and there is no split, or one that loses.
    """
    trees = getattr(messages, "boosted_trees.TreeEnsemble").FromString(ensemble)
    found = dict.fromkeys(names, 0.0)
    for tree, weight in zip(trees.trees, trees.tree_weights):
        for feature, gain in _splits(tree):
            found[names[feature]] += gain * weight
    if normalize:
        if not trees.trees:
            raise ValueError("Trying to normalize feature importances of an empty ensemble")
        total = sum(found.values())
        if min(found.values()) < 0:
            raise ValueError("Trying to normalize feature importances, and some are negative, as gains are where tree_complexity is not 0 "
                             "and pruning_mode is 'none'")
        if total == 0:
            raise ValueError("Trying to normalize feature importances of trees without a split")
        found = {name: value / total for name, value in found.items()}
    return _sorted(found, key=float)


def _splits(tree) -> Iterable[tuple[int, float]]:
    """(feature, gain) of each split."""
    for node in tree.nodes:
        kind = node.WhichOneof("node")
        if kind not in (None, "leaf"):
            yield getattr(node, kind).feature_id, node.metadata.gain


def _sorted(values, key):
    return collections.OrderedDict(sorted(values.items(), key=lambda item: key(item[1]), reverse=True))
