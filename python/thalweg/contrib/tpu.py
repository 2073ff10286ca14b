# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tpu: programs for TPUs, run on the CPU as TensorFlow runs them with use_tpu=False."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg.base import names as _names
from thalweg.estimator import Estimator, EstimatorSpec, RunConfig as _RunConfig
from thalweg.estimator.estimator import _parameters
from thalweg.operations import array_ops
from thalweg.training.optimizer import Optimizer
from thalweg.training.wrapped_optimizer import wrapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn, Self

    from thalweg.base.typing import Gradient, PathLike, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.training.session_run_hook import SessionRunHook
    from thalweg.variables.variables import Variable


class InputPipelineConfig:
    """How input is fed to the hosts of a TPU. One process has one way, so it makes no difference here.

    Examples
    --------
    >>> tw.contrib.tpu.InputPipelineConfig.PER_HOST_V2
    3
    """

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


class TPUConfig(collections.namedtuple("TPUConfig", [
        "iterations_per_loop", "num_shards", "num_cores_per_replica", "per_host_input_for_training", "tpu_job_name",
        "initial_infeed_sleep_secs", "input_partition_dims", "eval_training_input_configuration",
        "experimental_host_call_every_n_steps"])):
    """The settings of a TPU, which programs hand to RunConfig. They are kept, and without effect on a CPU.

    Examples
    --------
    >>> tw.contrib.tpu.TPUConfig(iterations_per_loop=100).iterations_per_loop
    100
    """

    def __new__(cls, iterations_per_loop: int = 2, num_shards: int | None = None, num_cores_per_replica: int | None = None,
                per_host_input_for_training: bool | int = True, tpu_job_name: str | None = None,
                initial_infeed_sleep_secs: float | None = None, input_partition_dims: Sequence[object] | None = None,
                eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
                experimental_host_call_every_n_steps: int = 1) -> Self:
        for name, value in (("iterations_per_loop", iterations_per_loop), ("num_shards", num_shards)):
            if value is not None and value < 1:
                raise ValueError(f"TPUConfig {name} must be positive, got {value}")
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training else \
                InputPipelineConfig.PER_SHARD_V1
        return super().__new__(cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training,
                               tpu_job_name, initial_infeed_sleep_secs, input_partition_dims,
                               eval_training_input_configuration, experimental_host_call_every_n_steps)


class RunConfig(_RunConfig):
    """The settings of an Estimator, and those of a TPU.

    Parameters
    ----------
    tpu_config : TPUConfig, optional
    evaluation_master : str, optional
        The target of sessions that evaluate.
    master : str, optional
        The target of sessions that train.
    cluster : ClusterResolver, optional
        Says the master instead.
    **kwargs
        What tw.estimator.RunConfig takes.

    Examples
    --------
    >>> config = tw.contrib.tpu.RunConfig(tpu_config=tw.contrib.tpu.TPUConfig(), model_dir="model")
    >>> config.model_dir
    'model'
    """

    def __init__(self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None, master: str | None = None,
                 cluster: object = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if master and cluster:
            raise ValueError("Both master and cluster are set.")
        self._tpu_config, self._cluster = tpu_config or TPUConfig(), cluster
        master = master or ""
        self._task = self._task._replace(master=master, evaluation_master=evaluation_master or master)

    @property
    def tpu_config(self) -> TPUConfig:
        """The settings of the TPU."""
        return self._tpu_config

    @property
    def cluster(self) -> object:
        """The cluster that was given, or None."""
        return self._cluster

    def replace(self, **kwargs: object) -> Self:
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        made = super().replace(**kwargs)
        made._tpu_config = tpu_config
        return made


class TPUEstimatorSpec(collections.namedtuple("TPUEstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metrics", "export_outputs", "scaffold_fn", "host_call",
        "training_hooks", "evaluation_hooks", "prediction_hooks"])):
    """An EstimatorSpec whose measures, and whose scaffold, are made by functions.

    Examples
    --------
    >>> spec = tw.contrib.tpu.TPUEstimatorSpec("train", loss=tw.constant(1.0), train_op=tw.no_op())
    >>> spec.as_estimator_spec().mode
    'train'
    """

    def __new__(cls, mode: str, predictions: Tensor | Mapping[str, Tensor] | None = None, loss: Tensor | None = None,
                train_op: Operation | Tensor | None = None, eval_metrics: tuple[Callable[..., object], object] | None = None,
                export_outputs: Mapping[str, object] | None = None, scaffold_fn: Callable[..., object] | None = None,
                host_call: tuple[Callable[..., object], object] | None = None,
                training_hooks: Sequence[SessionRunHook] | None = None, evaluation_hooks: Sequence[SessionRunHook] | None = None,
                prediction_hooks: Sequence[SessionRunHook] | None = None) -> Self:
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
                               tuple(training_hooks or ()), tuple(evaluation_hooks or ()), tuple(prediction_hooks or ()))

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same for a CPU."""
        return EstimatorSpec(self.mode, self.predictions, self.loss, self.train_op, _called(self.eval_metrics),
                             self.export_outputs, scaffold=self.scaffold_fn() if self.scaffold_fn else None,
                             training_hooks=self.training_hooks, evaluation_hooks=self.evaluation_hooks,
                             prediction_hooks=self.prediction_hooks)


def _called(metrics):
    """What the function of (function, tensors) gives."""
    if not metrics:
        return None
    function, tensors = metrics
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class TPUEstimator(Estimator):
    """An Estimator whose `params` hold the batch size of what it does, as those of TPUs; it runs on the CPU.

    Parameters
    ----------
    model_fn : callable
        Gives a TPUEstimatorSpec or an EstimatorSpec of (features, labels, mode, params).
    model_dir : str or path, optional
        The folder of checkpoints and events.
    config : RunConfig, optional
    params : dict, optional
        What the functions get; params["batch_size"] is set here.
    use_tpu : bool
        Of no effect.
    train_batch_size, eval_batch_size, predict_batch_size : int, optional
    batch_axis : list of int, optional
        Of no effect.
    eval_on_tpu, export_to_tpu, export_to_cpu : bool
        Of no effect.
    warm_start_from : str, path or WarmStartSettings, optional
    embedding_config_spec, export_saved_model_api_version : optional
        Of no effect.

    Examples
    --------
    >>> def model_fn(features, labels, mode, params):
    ...     loss = tw.reduce_mean(features)
    ...     step = tw.train.get_or_create_global_step()
    ...     return tw.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=tw.assign_add(step, 1))
    >>> estimator = tw.contrib.tpu.TPUEstimator(model_fn, "model", use_tpu=False, train_batch_size=8,
    ...                                         config=tw.contrib.tpu.RunConfig())
    >>> _ = estimator.train(lambda params: tw.data.Dataset.from_tensors(tw.ones([params["batch_size"]])), steps=1)
    >>> int(estimator.get_variable_value("global_step"))
    1
    """

    def __init__(self, model_fn: Callable[..., object] | None = None, model_dir: PathLike | None = None,
                 config: RunConfig | None = None, params: Mapping[str, object] | None = None, use_tpu: bool = True,
                 train_batch_size: int | None = None, eval_batch_size: int | None = None, predict_batch_size: int | None = None,
                 batch_axis: Sequence[int] | None = None, eval_on_tpu: bool = True, export_to_tpu: bool = True,
                 export_to_cpu: bool = True, warm_start_from: object = None, embedding_config_spec: object = None,
                 export_saved_model_api_version: object = None) -> None:
        if config is None or not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(k in params for k in ("batch_size", "context", "use_tpu")):
            raise ValueError("batch_size, context and use_tpu are reserved keys of params")
        if use_tpu:
            raise NotImplementedError("TPUEstimator: there is no TPU here; use_tpu=False runs the same program on the CPU")
        super().__init__(_on_cpu(model_fn), model_dir, config, params, warm_start_from)
        self._batch_sizes = {"train": train_batch_size, "eval": eval_batch_size, "infer": predict_batch_size}
        self._mode = None

    @property
    def params(self) -> dict[str, Any]:
        size = self._batch_sizes.get(self._mode)
        return dict(self._params, use_tpu=False, **({} if size is None else {"batch_size": size}))

    def _in_graph(self, input_fn, mode):
        self._mode = mode
        return super()._in_graph(input_fn, mode)


def _on_cpu(model_fn):
    import functools

    names = _parameters(model_fn)
    if "params" not in names:
        raise ValueError(f"model_fn ({model_fn}) does not include params argument, required by TPUEstimator to pass batch size as "
                         "params['batch_size']")

    @functools.wraps(model_fn)
    def called(**kwargs):
        spec = model_fn(**kwargs)
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec
    return called


@wrapping
class CrossShardOptimizer(Optimizer):
    """An optimizer whose gradients are averaged over the shards, of which there is one.

    Parameters
    ----------
    opt : Optimizer
        The optimizer within.
    reduction : str
        "weighted_mean" or "weighted_sum".
    name : str
        Name of the optimizer.
    group_assignment : optional
        Of no effect here.

    Raises
    ------
    ValueError
        If `reduction` is none of the two.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     w = tw.Variable(3.0)
    ...     train_op = tw.contrib.tpu.CrossShardOptimizer(tw.train.GradientDescentOptimizer(0.5)).minimize(w * w)
    ...     sess.run(w.initializer)
    ...     sess.run(train_op)
    ...     print(sess.run(w))
    0.0
    """

    def __init__(self, opt: Optimizer, reduction: str = "weighted_mean", name: str = "CrossShardOptimizer",
                 group_assignment: object = None) -> None:
        if reduction not in ("weighted_mean", "weighted_sum"):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Tensor | Callable[[], Tensor], var_list: Variable | Sequence[Variable] | None = None,
                          **kwargs: object) -> list[tuple[Gradient | None, Variable]]:
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None) -> Operation:
        return self._opt.apply_gradients(grads_and_vars, global_step, name)


def cross_replica_sum(x: TensorLike, group_assignment: object = None, name: str | None = None) -> Tensor:
    """The sum over the replicas: of the one."""
    return array_ops.identity(x, name=name)


def bfloat16_scope(name: str | None = None) -> NoReturn:
    """Not there: variables of 32 bits that are read with 16."""
    raise NotImplementedError("tf.contrib.tpu.bfloat16_scope: there is no TPU here")


_names.complete(globals())
