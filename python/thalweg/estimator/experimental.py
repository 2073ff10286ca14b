# SPDX-License-Identifier: Apache-2.0
"""tw.estimator.experimental: hooks that end training early, and the logits of ready-made models."""
from thalweg.base import names

names.complete(globals(), {
    "estimator.dnn": "dnn_logit_fn_builder",
    "estimator.early_stopping": "make_early_stopping_hook make_stop_at_checkpoint_step_hook stop_if_higher_hook stop_if_lower_hook "
                                "stop_if_no_decrease_hook stop_if_no_increase_hook",
    "estimator.extenders": "call_logit_fn",
    "estimator.in_memory_evaluation": "InMemoryEvaluatorHook",
    "estimator.linear": "linear_logit_fn_builder",
    "estimator.linear_sdca": "LinearSDCA"})
