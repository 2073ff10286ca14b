# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.cluster_resolver: addresses of clusters that somebody else runs."""
from thalweg.cluster_resolver import (ClusterResolver, GCEClusterResolver, KubernetesClusterResolver, SimpleClusterResolver,
                                      SlurmClusterResolver, TFConfigClusterResolver, TPUClusterResolver)
from thalweg.cluster_resolver import UnionResolver as UnionClusterResolver

__all__ = ["ClusterResolver", "GCEClusterResolver", "KubernetesClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver",
           "TFConfigClusterResolver", "TPUClusterResolver", "UnionClusterResolver"]
