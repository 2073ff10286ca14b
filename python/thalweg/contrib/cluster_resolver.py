# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.cluster_resolver: addresses of clusters that somebody else runs."""
from thalweg.base import names
from thalweg.cluster.cluster_resolver import (
    ClusterResolver,
    GCEClusterResolver,
    KubernetesClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
    TFConfigClusterResolver,
    TPUClusterResolver,
    UnionResolver as UnionClusterResolver,
)

__all__ = ["ClusterResolver", "GCEClusterResolver", "KubernetesClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver",
           "TFConfigClusterResolver", "TPUClusterResolver", "UnionClusterResolver"]


names.complete(globals())
