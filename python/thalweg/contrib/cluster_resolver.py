# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.cluster_resolver: addresses of clusters that somebody else runs."""


class ClusterResolver:
    """Base of those that know a cluster."""

    def cluster_spec(self):
        raise NotImplementedError("cluster_spec is not implemented for this ClusterResolver.")

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        raise NotImplementedError("master is not implemented for this ClusterResolver.")


class SimpleClusterResolver(ClusterResolver):
    """A cluster that the program knows."""

    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, environment="", num_accelerators=None,
                 rpc_layer=None):
        self._cluster_spec, self._master, self._rpc_layer = cluster_spec, master, rpc_layer
        self.task_type, self.task_id, self.environment = task_type, task_id, environment

    def cluster_spec(self):
        return self._cluster_spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        layer = rpc_layer or self._rpc_layer
        return f"{layer}://{self._master}" if layer and self._master else self._master


class TPUClusterResolver(ClusterResolver):
    """Not there: programs make one where their flags ask for a TPU."""

    def __init__(self, tpu=None, zone=None, project=None, job_name="worker", coordinator_name=None, coordinator_address=None,
                 credentials="default", service=None, discovery_url=None):
        raise NotImplementedError(f"TPUClusterResolver({tpu!r}): there is no TPU here; without one the same program runs on the CPU "
                                  "(use_tpu=False)")
