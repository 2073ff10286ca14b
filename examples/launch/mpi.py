# SPDX-License-Identifier: Apache-2.0
"""Tasks that an MPI launcher starts: rank 0 is the parameter server, the others are workers. MPI only starts them and carries
their addresses around; the training runs over Thalweg's own connections.

    mpirun -np 3 python mpi.py
"""
import os
import socket

import thalweg as tf
import train
from mpi4py import MPI
from thalweg.cluster.local_cluster import free_ports


def main():
    world = MPI.COMM_WORLD
    if world.size < 2:
        raise SystemExit("a parameter server and a worker at least: mpirun -np 2")
    # Beyond this machine certificates are needed (train.py), and addresses that the others reach.
    host = os.environ.get("THALWEG_HOST", "127.0.0.1" if train.certificates() is None else socket.getfqdn())
    addresses = world.allgather(f"{host}:{free_ports(1)[0]}")
    spec = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
    job, task = ("ps", 0) if world.rank == 0 else ("worker", world.rank - 1)
    train.run(tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type=job, task_id=task))


if __name__ == "__main__":
    main()
