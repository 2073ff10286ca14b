# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.learn_runner: makes an Experiment and calls one of its methods."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.contrib.learn.experiment import Experiment
from thalweg.contrib.learn.run_config import RunConfig

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OF_TASKS = {"master": "train_and_evaluate", "ps": "run_std_server", "worker": "train"}


def _schedule(config):
    """What a process does by its task."""
    if not config.cluster_spec.as_dict():
        return "train_and_evaluate"
    if config.task_type not in _OF_TASKS:
        raise ValueError(f"No default schedule for task type: {config.task_type}. Please specify a schedule.")
    return _OF_TASKS[config.task_type]


def run(experiment_fn: Callable[..., Experiment], output_dir: str | None = None, schedule: str | None = None,
        run_config: RunConfig | None = None, hparams: object = None) -> Any:
    """What a method of an Experiment gives.

    Parameters
    ----------
    experiment_fn : callable
        `experiment_fn(run_config=, hparams=)`, or with `output_dir` instead of `run_config`, `experiment_fn(output_dir=)`.
    output_dir : str, optional
    schedule : str, optional
        The method; without it "train_and_evaluate", or what the task of this process does in its cluster.
    run_config : tw.contrib.learn.RunConfig, optional
        Names the folder of the model.
    hparams : tw.contrib.training.HParams, optional
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if not output_dir and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is None:
        if hparams is not None:
            raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
        experiment = experiment_fn(output_dir=output_dir)
    else:
        if not isinstance(run_config, RunConfig):
            raise ValueError("`run_config` must be `tf.contrib.learn.RunConfig` instance")
        if not run_config.model_dir:
            raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
        experiment = experiment_fn(run_config=run_config, hparams=hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"Experiment builder did not return an Experiment instance, got {type(experiment)} instead.")
    config = run_config if run_config is not None else experiment.estimator.config
    name = schedule or (_schedule(config) if isinstance(config, RunConfig) else "train_and_evaluate")
    method = getattr(experiment, name, None)
    if method is None:
        raise ValueError(f"Schedule references non-existent task {name}")
    if not callable(method):
        raise TypeError(f"Schedule references non-callable member {name}")
    return method()


names.complete(globals())
