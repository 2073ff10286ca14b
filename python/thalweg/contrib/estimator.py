# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.estimator: heads by functions, and what was tried there before tw.estimator had it."""
from thalweg.base import names

names.complete(globals(), {
    "estimator.dnn": "dnn_logit_fn_builder",
    "estimator.extenders": "add_metrics call_logit_fn forward_features",
    "estimator.linear": "linear_logit_fn_builder",
    "estimator.older_heads": "binary_classification_head logistic_regression_head multi_class_head multi_head multi_label_head "
                             "poisson_regression_head regression_head",
    "estimator.trees_in_memory": "boosted_trees_classifier_train_in_memory boosted_trees_regressor_train_in_memory"})
