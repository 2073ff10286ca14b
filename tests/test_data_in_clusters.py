# SPDX-License-Identifier: Apache-2.0
"""Input pipelines in a cluster: the data go straight into the task that uses them (papers A4.5)."""
import numpy as np
import thalweg as tf
from two_tasks import two_tasks


def test_data_go_into_the_task_that_uses_them(tmp_path):
    numbers = np.arange(200_000, dtype=np.float32)
    (tmp_path / "numbers.txt").write_text("\n".join(f"{n:.0f}" for n in numbers))
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            dataset = tf.data.TextLineDataset(str(tmp_path / "numbers.txt")).map(tf.string_to_number, num_parallel_calls=2)
            iterator = dataset.batch(len(numbers)).prefetch(1).make_initializable_iterator()
            total = tf.reduce_sum(tf.cast(iterator.get_next(), tf.float64))
        # No message may be as large as the one element, which is 800 KB.
        with two_tasks("--max-message-bytes", "100000") as tasks, tf.Session(tasks.target) as session:
            session.run(iterator.initializer)
            assert session.run(total) == numbers.astype(np.float64).sum()
