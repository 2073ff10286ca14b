# SPDX-License-Identifier: Apache-2.0
"""Clusters of servers within this process, on loopback: for tests and for a first try."""
from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

from thalweg.cluster.server import ClusterSpec, Server

if TYPE_CHECKING:
    from thalweg.messages import ConfigProto

_OURS = range(10000, 32000)  # outgoing connections of Linux take theirs from 32768 on


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody has now, and that no outgoing connection of this host takes before they are listened at."""
    held = {}
    try:
        for port in random.SystemRandom().sample(_OURS, len(_OURS)):
            if len(held) == count:
                return list(held)
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", port))
                held[port] = s
            except OSError:
                s.close()
        raise OSError(f"there are no {count} free loopback ports between {_OURS.start} and {_OURS.stop}")
    finally:
        for s in held.values():
            s.close()


def create_local_cluster(num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: ConfigProto | None = None,
                         ps_config: ConfigProto | None = None) -> tuple[list[Server], list[Server]]:
    """(servers of the job worker, servers of the job ps), all of one cluster within this process, as tf.test's."""
    ports = free_ports(num_workers + num_ps)
    addresses = [f"localhost:{port}" for port in ports]
    spec = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})

    def servers(job, count, config):
        return [Server(spec, job, task, protocol=protocol, config=config) for task in range(count)]
    return servers("worker", num_workers, worker_config), servers("ps", num_ps, ps_config)
