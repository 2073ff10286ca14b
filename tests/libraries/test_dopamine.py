# SPDX-License-Identifier: Apache-2.0
"""dopamine-rl 2.0.5, and 3.0.1, whose nets are models of tf.keras that give named tuples: its agents learn from their replay buffers.
atari_py, which only its Atari games use, is left out."""
import pytest

PROGRAM = """
    import sys
    import types
    import warnings
    warnings.simplefilter("ignore")
    sys.modules["atari_py"] = types.ModuleType("atari_py")
    import numpy as np
    import {tensorflow} as tf
    from dopamine.agents.dqn import dqn_agent
    from dopamine.agents.rainbow import rainbow_agent
    from dopamine.discrete_domains import gym_lib
    tf.set_random_seed(1)
    np.random.seed(0)
    common = dict(num_actions=2, observation_shape={shape}, observation_dtype=tf.float32, stack_size=1, min_replay_history=50,
                  update_period=1, target_update_period=20, epsilon_fn=lambda *_: 0.1, tf_device="/cpu:0")
    session = tf.Session()
    with session.as_default():
        agents = [dqn_agent.DQNAgent(session, network=gym_lib.{dqn}, optimizer=tf.train.AdamOptimizer(0.005), **common),
                  rainbow_agent.RainbowAgent(session, network=gym_lib.{rainbow}, num_atoms=11, vmax=5.,
                                             optimizer=tf.train.AdamOptimizer(0.005), **common)]
        session.run(tf.global_variables_initializer())
        rng, shares = np.random.RandomState(0), []
        for agent in agents:
            observation, rewards = rng.randn(*{shape}), []
            action = agent.begin_episode(observation)
            for _ in range(400):
                rewards.append(float(action == (observation.flat[0] > 0)))  # the right action is the sign of the first number
                observation = rng.randn(*{shape})
                action = agent.step(rewards[-1], observation)
            agent.end_episode(0.)
            shares.append(np.mean(rewards[-100:]))
{more}        print(min(shares))
"""
FUNCTIONS = {"tensorflow": "tensorflow", "shape": (4,), "dqn": "cartpole_dqn_network", "rainbow": "cartpole_rainbow_network", "more": ""}
MODELS = {"tensorflow": "tensorflow.compat.v1", "shape": (4, 1), "dqn": "CartpoleDQNNetwork", "rainbow": "CartpoleRainbowNetwork", "more": """\
        from dopamine.discrete_domains import atari_lib
        images = tf.constant(np.random.RandomState(1).randint(0, 255, (2, 84, 84, 4)), tf.uint8)
        found = [net(images).q_values for net in (atari_lib.NatureDQNNetwork(3), atari_lib.RainbowNetwork(3, 5, tf.linspace(-1., 1., 5)))]
        session.run(tf.global_variables_initializer())
        assert [v.shape for v in session.run(found)] == [(2, 3), (2, 3)]
"""}


@pytest.mark.parametrize("numbers, version", [("last_numbers", FUNCTIONS), ("other_numbers", MODELS)], ids=["2.0.5", "3.0.1"])
def test_agents_learn(request, numbers, version):
    assert request.getfixturevalue(numbers)(PROGRAM.format(**version))[-1] > 0.7
