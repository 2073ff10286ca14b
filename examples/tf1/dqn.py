# SPDX-License-Identifier: Apache-2.0
"""Deep Q-learning on a small grid: walk to the goal around a wall; the measure: share of starts from which it arrives."""
import collections

import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_integer("episodes", 300, "training episodes")
FLAGS = tf.app.flags.FLAGS
SIZE, GOAL, LONGEST = 5, (4, 4), 30
WALL = {(1, 1), (1, 2), (1, 3), (3, 1), (3, 2), (3, 3)}
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]
STARTS = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in WALL and (r, c) != GOAL]


def observe(place):
    seen = np.zeros(SIZE * SIZE, np.float32)
    seen[place[0] * SIZE + place[1]] = 1
    return seen


def walk(place, action):
    """(next place, reward, whether the goal is reached)."""
    to = (place[0] + MOVES[action][0], place[1] + MOVES[action][1])
    if to in WALL or not (0 <= to[0] < SIZE and 0 <= to[1] < SIZE):
        return place, -0.1, False
    return to, (1.0 if to == GOAL else -0.02), to == GOAL


class Learner(object):
    """A Q network and a slower copy of it that says what the next state is worth."""

    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, SIZE * SIZE], name="state")
        self.next = tf.placeholder(tf.float32, [None, SIZE * SIZE], name="next")
        self.action = tf.placeholder(tf.int32, [None], name="action")
        self.reward = tf.placeholder(tf.float32, [None], name="reward")
        self.ended = tf.placeholder(tf.float32, [None], name="ended")
        self.q = self.network(self.state, "online")
        worth = self.reward + 0.95 * (1 - self.ended) * tf.reduce_max(self.network(self.next, "target"), 1)
        chosen = tf.reduce_sum(self.q * tf.one_hot(self.action, len(MOVES)), 1)
        loss = tf.losses.huber_loss(tf.stop_gradient(worth), chosen)
        online = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "online")
        target = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "target")
        self.learn = tf.train.RMSPropOptimizer(2e-3).minimize(loss, var_list=online)
        self.copy = tf.group(*[t.assign(o) for t, o in zip(target, online)])

    @staticmethod
    def network(state, scope):
        with tf.variable_scope(scope):
            hidden = tf.layers.dense(state, 48, tf.nn.relu, name="hidden")
            return tf.layers.dense(hidden, len(MOVES), name="q")


def arrives(session, learner, place):
    for _ in range(LONGEST):
        place, _, done = walk(place, int(np.argmax(session.run(learner.q, {learner.state: [observe(place)]}))))
        if done:
            return True
    return False


def main(_):
    tf.set_random_seed(3)
    r = np.random.RandomState(3)
    learner = Learner()
    memory = collections.deque(maxlen=4000)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(learner.copy)
        for episode in range(FLAGS.episodes):
            place, explore = STARTS[r.randint(len(STARTS))], max(0.1, 1 - episode / 150.0)
            for _ in range(LONGEST):
                q = session.run(learner.q, {learner.state: [observe(place)]})
                action = r.randint(len(MOVES)) if r.rand() < explore else int(np.argmax(q))
                to, reward, done = walk(place, action)
                memory.append((observe(place), action, reward, observe(to), float(done)))
                place = to
                batch = [memory[i] for i in r.randint(0, len(memory), 32)]
                state, action, reward, after, ended = zip(*batch)
                session.run(learner.learn, {learner.state: state, learner.action: action, learner.reward: reward,
                                            learner.next: after, learner.ended: ended})
                if done:
                    break
            if episode % 10 == 0:
                session.run(learner.copy)
            if episode % 100 == 0:
                print("episode %3d  exploring %.2f" % (episode, explore))
        print("arrives from: %.2f of all starts" % np.mean([arrives(session, learner, s) for s in STARTS]))


if __name__ == "__main__":
    tf.app.run()
