# SPDX-License-Identifier: Apache-2.0
"""Workers that train in step as threads of this process, each with a server of its own."""
import contextlib
import threading

import thalweg as tf
from thalweg.cluster.local_cluster import create_local_cluster


@contextlib.contextmanager
def local_servers(count):
    """The servers of so many workers, while it lasts."""
    servers, _ = create_local_cluster(count, 0)
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


def each_worker(servers, program):
    """What program(number, strategy, session_config, target) gave in a thread for each worker, or its error."""
    found = {}
    spec = tf.train.ClusterSpec({"worker": [server.target.split("//")[1] for server in servers]})

    def run(i):
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="worker", task_id=i)
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
        config = strategy.update_config_proto(tf.ConfigProto(operation_timeout_in_ms=60000))
        try:
            with tf.Graph().as_default(), strategy.scope():
                found[i] = program(i, strategy, config, servers[i].target)
        except Exception as error:  # pylint: disable=broad-except
            found[i] = error
    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert len(found) == len(servers), f"of {len(servers)} workers only some have ended within 100 s: {found}"
    return [found[i] for i in range(len(servers))]
