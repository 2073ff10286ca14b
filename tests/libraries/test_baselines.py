# SPDX-License-Identifier: Apache-2.0
"""baselines 0.1.5: deep Q learning of a pole, with its replay buffer and its functions of placeholders."""

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import gym
    import numpy as np
    import tensorflow as tf
    from baselines import deepq
    from baselines.common import set_global_seeds
    set_global_seeds(0)
    env = gym.make("CartPole-v0")
    env.seed(0)
    act = deepq.learn(env, q_func=deepq.models.mlp([64]), lr=1e-3, max_timesteps=12000, buffer_size=12000, exploration_fraction=0.2,
                      exploration_final_eps=0.02, target_network_update_freq=500, learning_starts=300, print_freq=None)
    rewards = []
    for _ in range(5):
        observation, done, total = env.reset(), False, 0
        while not done:
            observation, reward, done, _ = env.step(act(np.array(observation)[None])[0])
            total += reward
        rewards.append(total)
    print(np.mean(rewards))
"""


def test_a_pole_is_balanced(last_number):
    assert last_number(PROGRAM) > 50
