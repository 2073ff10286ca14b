# SPDX-License-Identifier: Apache-2.0
"""MapReduce word count in one process: mappers take file names from a queue and add to one total; the measure: it is exact."""
import os
import shutil
import tempfile
import threading

import tensorflow as tf

tf.app.flags.DEFINE_integer("mappers", 8, "threads that count")
FLAGS = tf.app.flags.FLAGS
WORDS = "to be or not that is the question".split()


def write_files(folder, count):
    """(names of new text files, number of words in all of them)."""
    names, words = [], 0
    for i in range(count):
        text = [WORDS[(i * 7 + k * 3) % len(WORDS)] for k in range(20 + i * i % 31)]
        names.append(os.path.join(folder, "%02d.txt" % i))
        with tf.gfile.GFile(names[-1], "w") as f:
            f.write("\n".join(text))
        words += len(text)
    return names, words


def main(_):
    folder = tempfile.mkdtemp()
    names, words = write_files(folder, 22)
    queue = tf.FIFOQueue(10, tf.string, shapes=[[]], shared_name="files")
    name = tf.placeholder(tf.string, [])
    put, close, take = queue.enqueue(name), queue.close(), queue.dequeue()
    count = tf.placeholder(tf.int32, [])
    total = tf.Variable(0, name="total")
    add = total.assign_add(count, use_locking=True)

    with tf.Session() as session:
        session.run(total.initializer)
        coordinator = tf.train.Coordinator()

        def map_files():
            with coordinator.stop_on_exception():
                try:
                    while not coordinator.should_stop():
                        with tf.gfile.GFile(session.run(take)) as f:
                            session.run(add, {count: len(f.read().split())})
                except tf.errors.OutOfRangeError:
                    pass  # the queue is closed and empty

        mappers = [threading.Thread(target=map_files) for _ in range(FLAGS.mappers)]
        for mapper in mappers:
            mapper.start()
        for path in names:
            session.run(put, {name: path})
        session.run(close)
        coordinator.join(mappers)
        print("%d words in %d files, counted: %d" % (words, len(names), session.run(total)))
    shutil.rmtree(folder)


if __name__ == "__main__":
    tf.app.run()
