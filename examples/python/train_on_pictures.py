# SPDX-License-Identifier: Apache-2.0
"""Trains a small net on a folder of JPEGs, FOLDER/train/CLASS/*.jpg, and tests it on FOLDER/test/CLASS/*.jpg.

    train_on_pictures.py [FOLDER]       without one: on the handwritten digits, written as JPEGs
"""
import contextlib
import os
import sys

import pictures
import thalweg as tw


def main(folder):
    classes = sorted(os.listdir(os.path.join(folder, "train")))

    def read(name):
        image = tw.image.decode_jpeg(tw.read_file(name), channels=3)
        of_folder = tw.strings.regex_replace(name, ".*/([^/]*)/[^/]*", r"\1")
        label = tw.argmax(tw.cast(tw.equal(classes, of_folder), tw.int32))
        return tw.image.resize_images(image, [32, 32]) / 255, label

    def dataset(part):
        return tw.data.Dataset.list_files(f"{folder}/{part}/*/*.jpg", seed=1).map(read, num_parallel_calls=2)

    batches = dataset("train").cache().shuffle(2000, seed=2).repeat().batch(64).prefetch(2)
    images, labels = batches.make_one_shot_iterator().get_next()
    x = tw.layers.max_pooling2d(tw.layers.conv2d(images, 16, 3, activation=tw.nn.relu), 2, 2)
    x = tw.layers.max_pooling2d(tw.layers.conv2d(x, 32, 3, activation=tw.nn.relu), 2, 2)
    scores = tw.layers.dense(tw.layers.flatten(x), len(classes))
    loss = tw.losses.sparse_softmax_cross_entropy(labels, scores)
    step = tw.train.AdamOptimizer(0.003).minimize(loss)
    hits = tw.reduce_sum(tw.cast(tw.nn.in_top_k(scores, labels, 1), tw.int32))
    tests = dataset("test").batch(100).make_one_shot_iterator().get_next()

    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        for i in range(1, 121):
            now, _ = session.run([loss, step])
            if i % 20 == 0:
                print(f"step {i}  loss {now:.4f}")
        right = seen = 0
        with contextlib.suppress(tw.errors.OutOfRangeError):
            while True:
                some_images, some_labels = session.run(tests)
                right += session.run(hits, {images: some_images, labels: some_labels})
                seen += len(some_labels)
        print(f"test accuracy: {right / seen:.4f}")


if __name__ == "__main__":
    tw.set_random_seed(0)
    with contextlib.nullcontext(sys.argv[1]) if len(sys.argv) > 1 else pictures.of_digits() as given:
        main(given)
