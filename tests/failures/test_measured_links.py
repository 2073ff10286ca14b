# SPDX-License-Identifier: Apache-2.0
"""Where nodes are placed by cost, links between tasks are measured: a large value stays on its side of a slow one, and a link over which
nothing comes back is guessed (papers A3.2.1)."""
import os
import re
import sys

import pytest
import thalweg as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

FLOATS = 1024
MASTER, PS, WORKER = (f"/job:{job}/replica:0/task:{task}/device:CPU:0" for job, task in (faults.TASKS[n] for n in ("master", "ps", "worker")))


@pytest.fixture(name="cluster")
def cluster_by_calls():
    cluster = faults.Cluster()
    yield cluster
    cluster.close()


def explained(cluster, word="+place_by_cost", made=None):
    """Why products of a large value that is made on the ps are where they are; `made` is called between session and step."""
    config = tf.ConfigProto()
    if word:
        config.graph_options.rewrite_options.optimizers.append(word)
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            large = tf.random_uniform([FLOATS, FLOATS], seed=1)
        products = [tf.matmul(large, large + float(i)) for i in range(16)]
        sums = [tf.reduce_sum(product) for product in products]
        with tf.Session(cluster.target, graph=graph, config=config) as session:
            session.list_devices()  # now it is made
            if made:
                made()
            session.run(sums)
            return [session.explain_placement(product.op.name) for product in products]


def places(texts):
    return {re.match(r".* -> (\S+)", text)[1] for text in texts}


def link(text, device):
    """What is said of the link from the device to the chosen one: bytes a second, and whence that is known."""
    found = re.search(rf"^ *{device}: .*; to the chosen one .*, ([\d.e+-]+) (k|M|G|T|)B/s \((\w+)\)$", text, re.MULTILINE)
    assert found, text
    return float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]], found[3]


def until_all_is_measured(explain):
    """What `explain` gives, unless the machine is so busy that there was no time to measure a link: another cluster may have some."""
    for _ in range(10):
        texts = explain()
        if all("(measured)" in text and "(guessed)" not in text for text in texts):
            return texts
    pytest.fail(texts[0])


def test_a_large_value_stays_on_its_side_of_a_slow_link():
    def explain():
        cluster = faults.Cluster()
        for pair in (("master", "ps"), ("ps", "master"), ("ps", "worker"), ("worker", "ps")):
            cluster.network[pair].rate = 2e6
        try:
            return explained(cluster)
        finally:
            cluster.close()
    slow = until_all_is_measured(explain)
    assert places(slow) == {PS}, slow
    for device in (MASTER, WORKER):
        assert link(slow[0], device)[0] < 4e7, slow[0]


def test_a_link_that_gives_no_answer_is_guessed(cluster):
    """The guess is a network's: with it, products leave the ps."""
    silent = [cluster.network["ps", "worker"], cluster.network["worker", "ps"]]
    for each in silent:
        each.cut()
    guessed = explained(cluster, made=lambda: [each.mend() for each in silent])
    assert WORKER in places(guessed), guessed
    text = next(text for text in guessed if places([text]) == {WORKER})
    assert link(text, PS)[1] == "guessed" and link(text, MASTER)[1] == "measured", text


def test_nothing_is_measured_for_who_does_not_ask(cluster):
    assert not any("(measured)" in text or "(guessed)" in text for text in explained(cluster, word=None))


def test_through_channels_too():
    def explain():
        cluster = faults.Cluster(by_calls=False)
        try:
            return explained(cluster)
        finally:
            cluster.close()
    until_all_is_measured(explain)
