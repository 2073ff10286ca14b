# SPDX-License-Identifier: Apache-2.0
"""word2vec: skip-grams with noise-contrastive estimation; the measure: do neighbors in the embedding share a topic?"""
import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("steps", 3000, "training steps")
FLAGS = tf.app.flags.FLAGS
TOPICS = {
    "kitchen": "pot pan knife spoon oven flour butter salt",
    "harbor": "ship anchor sail mast harbor rope deck crew",
    "garden": "rose soil seed spade hedge lawn bee apple",
    "music": "violin drum chord tune singer piano choir flute",
    "weather": "rain cloud storm wind snow fog thunder frost",
}
COMMON = "the a of and was with".split()


def corpus(sentences, seed):
    """Sentences about one topic each, common words between: what is near a word tells its topic."""
    r = np.random.RandomState(seed)
    text = []
    for _ in range(sentences):
        words = TOPICS[r.choice(sorted(TOPICS))].split()
        for _ in range(8):
            text.append(r.choice(COMMON) if r.rand() < 0.3 else r.choice(words))
    return text


def skip_grams(ids, window):
    centers, contexts = [], []
    for offset in range(1, window + 1):
        centers += [ids[:-offset], ids[offset:]]
        contexts += [ids[offset:], ids[:-offset]]
    return np.concatenate(centers), np.concatenate(contexts)


def main(_):
    tf.set_random_seed(1)
    text = corpus(4000, seed=0)
    vocabulary = sorted(set(text), key=lambda w: (-text.count(w), w))  # the sampler expects frequent words first
    number = {w: i for i, w in enumerate(vocabulary)}
    centers, contexts = skip_grams(np.array([number[w] for w in text]), window=3)

    inputs = tf.placeholder(tf.int32, [None])
    labels = tf.placeholder(tf.int64, [None, 1])
    with tf.name_scope("embeddings"):
        embeddings = tf.Variable(tf.random_uniform([len(vocabulary), 16], -1.0, 1.0))
        embedded = tf.nn.embedding_lookup(embeddings, inputs)
    with tf.name_scope("loss"):
        weights = tf.Variable(tf.truncated_normal([len(vocabulary), 16], stddev=0.25))
        biases = tf.Variable(tf.zeros([len(vocabulary)]))
        loss = tf.reduce_mean(tf.nn.nce_loss(weights=weights, biases=biases, labels=labels, inputs=embedded, num_sampled=8,
                                             num_classes=len(vocabulary)))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    unit = tf.nn.l2_normalize(embeddings, 1)
    similarity = tf.matmul(unit, unit, transpose_b=True)

    rows = np.random.RandomState(0)
    with tf.Session() as session:
        tf.global_variables_initializer().run()
        for i in range(FLAGS.steps):
            batch = rows.randint(0, len(centers), 128)
            value, _ = session.run([loss, step], {inputs: centers[batch], labels: contexts[batch][:, None]})
            if i % 1000 == 0:
                print("step %4d  loss %.3f" % (i, value))
        nearest = np.argsort(-similarity.eval(), 1)[:, 1:4]
    topic = {w: name for name, words in TOPICS.items() for w in words.split()}
    print("near 'ship': " + ", ".join(vocabulary[i] for i in nearest[number["ship"]]))
    same = [topic.get(vocabulary[n]) == topic[w] for w in topic for n in nearest[number[w]]]
    print("neighbors of the same topic: %.2f" % np.mean(same))


if __name__ == "__main__":
    tf.app.run()
