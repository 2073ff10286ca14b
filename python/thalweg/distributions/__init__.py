# SPDX-License-Identifier: Apache-2.0
"""Probability distributions: tw.distributions."""
from thalweg.base import names

names.complete(globals(), {
    "distributions.base": "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED RegisterKL ReparameterizationType kl_divergence",
    "distributions.elementary": "Bernoulli Categorical Normal Uniform",
    "distributions.gamma_family": "Beta Dirichlet Exponential Gamma Laplace Multinomial StudentT"})
