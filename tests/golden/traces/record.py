# SPDX-License-Identifier: Apache-2.0
"""Records RunMetadata of one step over two tasks, ps and worker: a release's python, this file, the file to write."""
import os
import socket
import sys

import tensorflow

tf = tensorflow.compat.v1
tf.disable_eager_execution()


def _address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def main():
    cluster = tf.train.ClusterSpec({"ps": [_address()], "worker": [_address()]})
    servers = [tf.train.Server(cluster, job, 0) for job in ("ps", "worker")]
    with tf.device("/job:ps/task:0"):
        v = tf.random_uniform([200, 200], name="v")
    with tf.device("/job:worker/task:0"):
        y = tf.matmul(v, v, name="y")
    with tf.device("/job:ps/task:0"):
        z = tf.reduce_sum(y, name="z")
    with tf.Session(servers[1].target) as session:
        session.run(z)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        session.run(z, options=options, run_metadata=metadata)
    with open(sys.argv[1], "wb") as file:
        file.write(metadata.SerializeToString())
    os._exit(0)  # servers of the releases do not end


if __name__ == "__main__":
    main()
