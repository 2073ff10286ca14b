# own_cluster.py
import thalweg as tf

a, b = tf.train.Server.create_local_server(), tf.train.Server.create_local_server()
spec = tf.train.ClusterSpec({"worker": [s.target[len("grpc://"):] for s in (a, b)]})
with tf.device("/job:worker/task:1"):
    y = tf.constant(1.0) + 1.0
print("in its own cluster:", tf.Session(a.target, config=tf.ConfigProto(cluster_def=spec.as_cluster_def())).run(y))
