# SPDX-License-Identifier: Apache-2.0
"""stable-baselines 2.10.2: three algorithms learn to balance a pole, a model is saved and loaded."""

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import gym
    import numpy as np
    from stable_baselines import A2C, DQN, PPO2
    from stable_baselines.common.evaluation import evaluate_policy
    from stable_baselines.common.policies import MlpPolicy
    env = gym.make("CartPole-v1")
    env.seed(0)
    DQN("MlpPolicy", env, learning_starts=50, buffer_size=500, seed=0).learn(300)
    A2C(MlpPolicy, env, seed=0, n_cpu_tf_sess=1).learn(300)
    model = PPO2(MlpPolicy, env, n_steps=256, learning_rate=3e-3, nminibatches=4, seed=0, n_cpu_tf_sess=1).learn(5000)
    model.save("policy")
    again = PPO2.load("policy")
    observation = np.array([0.01, 0.02, -0.01, 0.03])
    assert np.allclose(model.action_probability(observation), again.action_probability(observation))
    print(evaluate_policy(again, env, n_eval_episodes=10)[0])
"""


def test_a_pole_is_balanced(last_number):
    assert last_number(PROGRAM) > 100
