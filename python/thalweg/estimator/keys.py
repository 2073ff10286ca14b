# SPDX-License-Identifier: Apache-2.0
"""Names of what models predict and measure."""


class PredictionKeys:
    """Keys of predictions."""

    CLASSES, CLASS_IDS, ALL_CLASSES, ALL_CLASS_IDS = "classes", "class_ids", "all_classes", "all_class_ids"
    LOGISTIC, LOGITS, PREDICTIONS, PROBABILITIES = "logistic", "logits", "predictions", "probabilities"
    TOP_K = "top_k"


class MetricKeys:
    """Keys of metrics."""

    LOSS, LOSS_MEAN, LOSS_REGULARIZATION = "loss", "average_loss", "regularization_loss"
    ACCURACY, ACCURACY_BASELINE, PRECISION, RECALL = "accuracy", "accuracy_baseline", "precision", "recall"
    AUC, AUC_PR, LABEL_MEAN, PREDICTION_MEAN = "auc", "auc_precision_recall", "label/mean", "prediction/mean"
    ACCURACY_AT_THRESHOLD, PRECISION_AT_THRESHOLD, RECALL_AT_THRESHOLD = (
        f"{name}/positive_threshold_%g" for name in ("accuracy", "precision", "recall"))
    PROBABILITY_MEAN_AT_CLASS, AUC_AT_CLASS, AUC_PR_AT_CLASS = (
        f"{name}/class%d" for name in ("probability_mean", "auc", "auc_precision_recall"))
    PROBABILITY_MEAN_AT_NAME, AUC_AT_NAME, AUC_PR_AT_NAME = (f"{name}/%s" for name in ("probability_mean", "auc", "auc_precision_recall"))
