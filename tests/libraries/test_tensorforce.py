# SPDX-License-Identifier: Apache-2.0
"""tensorforce 0.4.3: an agent with its memory and optimizer inside the graph."""

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    from tensorforce.agents import VPGAgent
    tf.set_random_seed(1)
    agent = VPGAgent(states=dict(type="float", shape=(2,)), actions=dict(type="int", num_actions=2),
                     network=[dict(type="dense", size=16, activation="tanh")], batching_capacity=100,
                     update_mode=dict(unit="episodes", batch_size=10, frequency=10), discount=0.0,
                     optimizer=dict(type="adam", learning_rate=0.03))
    rng, rewards = np.random.RandomState(0), []
    for episode in range(150):
        agent.reset()
        for step in range(5):
            state = rng.randn(2)
            action = agent.act(state)
            rewards.append(float(action == (state[0] > 0)))
            agent.observe(terminal=step == 4, reward=rewards[-1])
    print(np.mean(rewards[-200:]))
"""


def test_an_agent_learns(last_number):
    assert last_number(PROGRAM) > 0.75
