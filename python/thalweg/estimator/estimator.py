# SPDX-License-Identifier: Apache-2.0
"""Estimator: trains, measures and asks a model function, each in a graph and a session of its own."""
from __future__ import annotations

import collections
import contextlib
import inspect
import os
import tempfile
from typing import TYPE_CHECKING

import numpy as np

from thalweg import errors, logging as tw_logging, messages, metrics, summary, train
from thalweg.estimator import cluster_tasks, saved_models, strategies
from thalweg.estimator.run_config import RunConfig
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.saving.saver import Saver
from thalweg.training.basic_session_run_hooks import CheckpointSaverHook, FinalOpsHook, LoggingTensorHook, NanTensorHook, StopAtStepHook
from thalweg.training.monitored_session import ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession, Scaffold
from thalweg.training.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import PathLike
    from thalweg.training.basic_session_run_hooks import CheckpointSaverListener

WarmStartSettings = collections.namedtuple("WarmStartSettings", [
    "ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_vocab_info", "var_name_to_prev_var_name"])
WarmStartSettings.__new__.__defaults__ = (".*", None, None)


def _parameters(function):
    """Names of a function's parameters, those that functools.partial has filled left out."""
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]


class _StopAfterSteps(SessionRunHook):
    """Stops after so many runs."""

    def __init__(self, steps):
        self._left = steps

    def after_run(self, run_context, run_values):
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()


class Estimator:
    """Trains, measures and asks a model function, each in a graph and a session of its own.

    Parameters
    ----------
    model_fn : callable
        model_fn(features, labels, mode, params, config) gives an EstimatorSpec; all but features may be missing.
    model_dir : str or path, optional
        Where checkpoints and summaries are; a new temporary directory by default.
    config : RunConfig, optional
        How sessions run and what they save.
    params : dict, optional
        What `model_fn` gets as params.
    warm_start_from : str or WarmStartSettings, optional
        A checkpoint that training begins from.

    Raises
    ------
    ValueError
        If `model_fn` does not take what it is to be given, or two directories are named.

    Examples
    --------
    >>> import tempfile
    >>> def model(features, labels, mode):
    ...     w = tw.get_variable("w", [], initializer=tw.zeros_initializer())
    ...     y = w * features["x"]
    ...     if mode == tw.estimator.ModeKeys.PREDICT:
    ...         return tw.estimator.EstimatorSpec(mode, predictions={"y": y})
    ...     loss = tw.losses.mean_squared_error(labels, y)
    ...     step = tw.train.GradientDescentOptimizer(0.1).minimize(loss, tw.train.get_global_step())
    ...     return tw.estimator.EstimatorSpec(mode, loss=loss, train_op=step)
    >>> data = {"x": np.array([1.0, 2.0], np.float32)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     estimator = tw.estimator.Estimator(model, folder)
    ...     for_training = tw.estimator.inputs.numpy_input_fn(data, 3 * data["x"], 2, num_epochs=None, shuffle=True)
    ...     trained = estimator.train(for_training, steps=50)
    ...     for_asking = tw.estimator.inputs.numpy_input_fn(data, shuffle=False)
    ...     [round(float(row["y"]), 2) for row in estimator.predict(for_asking)]
    [3.0, 6.0]
    """

    def __init__(self, model_fn: Callable[..., EstimatorSpec], model_dir: PathLike | None = None, config: RunConfig | None = None,
                 params: Mapping[str, object] | None = None, warm_start_from: str | WarmStartSettings | None = None) -> None:
        if config is not None and not isinstance(config, RunConfig):
            raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
        config = config or RunConfig()
        if model_dir is not None and config.model_dir is not None and config.model_dir != model_dir:
            raise ValueError("`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                             f"'{model_dir}', in `RunConfig`: '{config.model_dir}' ")
        where = model_dir or config.model_dir or tempfile.mkdtemp()
        self._config = config.replace(model_dir=str(where))
        self._model_dir = str(where)
        names = _parameters(model_fn)
        if "features" not in names:
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        if params is not None and "params" not in names:
            raise ValueError(f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to "
                             "Estimator.")
        self._model_fn, self._params, self._warm = model_fn, dict(params or {}), warm_start_from
        if warm_start_from is not None and not isinstance(warm_start_from, (str, WarmStartSettings)):
            raise ValueError("warm_start_from must be a string or a WarmStartSettings")

    @property
    def model_dir(self) -> str:
        """Where checkpoints and summaries are."""
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """How sessions run and what they save; a copy."""
        return self._config

    @property
    def params(self) -> dict[str, Any]:
        """What the model function gets as params; a copy."""
        return dict(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function: (features, labels, mode, config) -> EstimatorSpec."""
        return lambda features, labels, mode, config: self._call_model_fn(features, labels, mode, config)

    # ---- what there is ----
    def latest_checkpoint(self) -> str | None:
        """The newest checkpoint's path, or None."""
        return train.latest_checkpoint(self._model_dir)

    def get_variable_names(self) -> list[str]:
        """The names of the variables of the newest checkpoint; ValueError where there is none."""
        return [name for name, _ in train.list_variables(self._newest())]

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint."""
        return train.load_variable(self._newest(), name)

    def _newest(self):
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(f"Estimator has not been trained yet: no checkpoint in {self._model_dir}")
        return path

    def eval_dir(self, name: str | None = None) -> str:
        """Where evaluate() writes its summaries."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    # ---- pieces of a graph ----
    def _input_of(self, input_fn, mode, context=None):
        """A dataset or tensors. `context`: an InputContext, under a strategy."""
        names, given = _parameters(input_fn), {}
        for name, value in (("mode", mode), ("params", self.params), ("config", self._config), ("input_context", context)):
            if name in names:
                given[name] = value
        return input_fn(**given)

    def _call_input_fn(self, input_fn, mode):
        """(features, labels or None)."""
        result = self._input_of(input_fn, mode)
        if hasattr(result, "make_initializable_iterator"):
            iterator = result.make_initializable_iterator()
            graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
            result = iterator.get_next()
        if isinstance(result, (list, tuple)):
            if len(result) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return tuple(result)
        return result, None

    def _call_model_fn(self, features, labels, mode, config):
        names, given = _parameters(self._model_fn), {}
        if "labels" in names:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        for name, value in (("mode", mode), ("params", self.params), ("config", config)):
            if name in names:
                given[name] = value
        spec = self._model_fn(features=features, **given)
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _device_fn(self, mode):
        """A session that measures or predicts is of this process alone, so it has no parameter servers."""
        if self._config.device_fn is not None or mode != ModeKeys.TRAIN:
            return self._config.device_fn
        return cluster_tasks.variables_on_servers(self._config)

    @contextlib.contextmanager
    def _new_graph(self, mode):
        made = graph.Graph()
        with made.as_default(), made.device(self._device_fn(mode) or ""):
            if self._config.tf_random_seed is not None:
                graph.set_random_seed(self._config.tf_random_seed)
            yield made

    def _in_graph(self, input_fn, mode):
        """(graph, spec) of a new graph."""
        with self._new_graph(mode) as made:
            strategy = strategies.of_training(self._config) if mode == ModeKeys.TRAIN else None
            if strategy is not None:
                return made, strategies.spec_of_all(strategy, lambda context: self._input_of(input_fn, mode, context),
                                                    self._call_model_fn, self._config)
            train.create_global_step(made)
            features, labels = self._call_input_fn(input_fn, mode)
            return made, self._call_model_fn(features, labels if mode != ModeKeys.PREDICT else None, mode, self._config)

    # ---- training ----
    def train(self, input_fn: Callable[..., object], hooks: Sequence[SessionRunHook] | None = None, steps: int | None = None,
              max_steps: int | None = None, saving_listeners: Sequence[CheckpointSaverListener] | None = None) -> Self:
        """Trains for `steps` more, or until `max_steps`, or until the input ends. Gives itself."""
        if strategies.trains_in_step(self._config):
            raise ValueError("in a cluster whose workers train in step, tf.estimator.train_and_evaluate trains, not Estimator.train: it starts the "
                             "server that the others find this worker by")
        return self._train(input_fn, hooks, steps, max_steps, saving_listeners)

    def _train(self, input_fn, hooks, steps, max_steps, saving_listeners):
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        if max_steps is not None and self._steps_so_far() >= max_steps:
            tw_logging.info("Skipping training since max_steps has already saved.")
            return self
        made, spec = self._in_graph(input_fn, ModeKeys.TRAIN)
        strategy = strategies.of_training(self._config)
        with made.as_default(), contextlib.nullcontext() if strategy is None else strategy.scope():
            self._warm_start()
            loss = self._run_training(spec, list(hooks or []), steps, max_steps, list(saving_listeners or []))
        tw_logging.info("Loss for final step: %s.", loss)
        return self

    def _steps_so_far(self):
        path = self.latest_checkpoint()
        return 0 if path is None else int(train.load_variable(path, GraphKeys.GLOBAL_STEP))

    def _warm_start(self):
        if self._warm is None or self.latest_checkpoint() is not None:
            return
        settings = self._warm if isinstance(self._warm, WarmStartSettings) else WarmStartSettings(self._warm)
        train.warm_start(settings.ckpt_to_initialize_from, settings.vars_to_warm_start, settings.var_name_to_vocab_info,
                         settings.var_name_to_prev_var_name)

    def _run_training(self, spec, hooks, steps, max_steps, listeners):
        config, step = self._config, train.get_global_step()
        if not (spec.scaffold.saver or graph.get_collection(GraphKeys.SAVERS)):
            graph.add_to_collection(GraphKeys.SAVERS, Saver(
                sharded=True, max_to_keep=config.keep_checkpoint_max, allow_empty=True, defer_build=True,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours))
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        all_hooks = [NanTensorHook(spec.loss)]
        if config.log_step_count_steps:
            all_hooks.append(LoggingTensorHook({"loss": spec.loss, "step": step}, every_n_iter=config.log_step_count_steps))
        all_hooks += [*hooks, *spec.training_hooks]
        chief = list(spec.training_chief_hooks)
        if strategies.trains_in_step(config):
            if listeners:
                raise ValueError("saving_listeners are not supported where several workers train in step: each of them saves")
            return _trained(spec, strategies.session_in_step(strategies.of_training(config), config, spec,
                                                             all_hooks + (chief if config.is_chief else [])))
        savers = [h for h in all_hooks + chief if isinstance(h, CheckpointSaverHook)]
        if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            savers = [CheckpointSaverHook(self._model_dir, save_secs=config.save_checkpoints_secs, listeners=listeners,
                                          save_steps=config.save_checkpoints_steps, scaffold=spec.scaffold)]
            chief += savers
        elif listeners:
            if not savers:
                raise ValueError("There should be a CheckpointSaverHook to use saving_listeners.")
            savers[0]._listeners.extend(listeners)
        return _trained(spec, MonitoredTrainingSession(
            config.master, is_chief=config.is_chief, checkpoint_dir=self._model_dir, scaffold=spec.scaffold, hooks=all_hooks,
            chief_only_hooks=chief, save_checkpoint_secs=0, save_summaries_steps=config.save_summary_steps, config=config.session_config,
            log_step_count_steps=config.log_step_count_steps, max_wait_secs=config.session_creation_timeout_secs))

    # ---- measuring ----
    def evaluate(self, input_fn: Callable[..., object], steps: int | None = None, hooks: Sequence[SessionRunHook] | None = None,
                 checkpoint_path: PathLike | None = None, name: str | None = None) -> dict[str, Any]:
        """The metrics by name, with loss and global_step."""
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        return self._evaluate(input_fn, steps, hooks, checkpoint_path or self.latest_checkpoint(), name, None)

    def _evaluate(self, input_fn, steps, hooks, path, name, init_fn):
        """The metrics with the variables of a checkpoint, or those that init_fn(scaffold, session) sets."""
        strategy = strategies.of_measuring(self._config)
        made, spec, values, updates = self._measuring_graph(strategy, input_fn)
        with made.as_default(), contextlib.nullcontext() if strategy is None else strategy.scope():
            scaffold = Scaffold(init_fn=init_fn, copy_from_scaffold=spec.scaffold) if init_fn else spec.scaffold
            values[GraphKeys.GLOBAL_STEP] = train.get_global_step()
            final = FinalOpsHook(values)
            all_hooks = [*(hooks or []), *spec.evaluation_hooks, final]
            if steps is not None:
                all_hooks.append(_StopAfterSteps(steps))
            creator = ChiefSessionCreator(scaffold, self._config.evaluation_master, self._config.session_config,
                                          checkpoint_filename_with_path=path)
            with MonitoredSession(creator, all_hooks) as session:
                while not session.should_stop():
                    session.run(updates)
        results = final.final_ops_values
        tw_logging.info("Saving dict for global step %d: %s", results[GraphKeys.GLOBAL_STEP], results)
        self._write_results(results, name)
        return results

    def _measuring_graph(self, strategy, input_fn):
        """(graph, spec, metrics by name, their updates) of a new graph."""
        if strategy is None:
            made, spec = self._in_graph(input_fn, ModeKeys.EVAL)
            with made.as_default():
                return made, spec, *self._metric_tensors(spec)
        with self._new_graph(ModeKeys.EVAL) as made:
            return made, *strategies.measured_by_all(strategy, lambda context: self._input_of(input_fn, ModeKeys.EVAL, context),
                                                     self._call_model_fn, self._config, self._metric_tensors)

    def _metric_tensors(self, spec):
        values, updates = {}, []
        for key, metric in spec.eval_metric_ops.items():
            value, update = (metric.result(), metric.updates) if hasattr(metric, "result") else metric
            values[key] = value
            updates.append(update)
        if "loss" in values:
            raise ValueError("Metric with name 'loss' is not allowed, because Estimator already defines a default metric with the "
                             "same name.")
        values["loss"], update = metrics.mean(spec.loss)
        return values, updates + [update]

    def _write_results(self, results, name):
        writer = summary.FileWriter(self.eval_dir(name))
        message = messages.Summary()
        for key, value in results.items():
            if key != GraphKeys.GLOBAL_STEP and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu":
                message.value.add(tag=key, simple_value=float(value))
        writer.add_summary(message, int(results[GraphKeys.GLOBAL_STEP]))
        writer.close()

    # ---- asking ----
    def predict(self, input_fn: Callable[..., object], predict_keys: Sequence[str] | None = None,
                hooks: Sequence[SessionRunHook] | None = None, checkpoint_path: PathLike | None = None,
                yield_single_examples: bool = True) -> Iterator[Any]:
        """Yields the predictions of each row, or of each batch."""
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            tw_logging.info("Could not find trained model in model_dir: %s, running initialization to predict.", self._model_dir)
        made, spec = self._in_graph(input_fn, ModeKeys.PREDICT)
        wanted = _chosen(spec.predictions, predict_keys)
        creator = ChiefSessionCreator(spec.scaffold, config=self._config.session_config, checkpoint_filename_with_path=path)
        with made.as_default():  # not while the caller has the word
            session = MonitoredSession(creator, [*(hooks or []), *spec.prediction_hooks])
        try:
            while not session.should_stop():
                try:
                    with made.as_default():
                        found = session.run(wanted)
                except (errors.OutOfRangeError, StopIteration):
                    break
                yield from _rows(found) if yield_single_examples else [found]
        finally:
            with made.as_default():
                session.close()

    # ---- writing a model ----
    def export_saved_model(self, export_dir_base: PathLike, serving_input_receiver_fn: Callable[[], Any],
                           assets_extra: Mapping[str, str] | None = None, as_text: bool = False,
                           checkpoint_path: PathLike | None = None, experimental_mode: str = ModeKeys.PREDICT) -> bytes:
        """Writes a SavedModel of a checkpoint, the newest by default, into a new folder, whose name is the time; gives its path.
        `serving_input_receiver_fn`: gives a ServingInputReceiver; `assets_extra`: {path below assets.extra: file}."""
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        if experimental_mode != ModeKeys.PREDICT:
            raise NotImplementedError("an Estimator exports the model that answers, not those that train or measure")
        return saved_models.write(os.fspath(export_dir_base), serving_input_receiver_fn, self._model_to_serve, os.fspath(path),
                                  assets_extra, as_text, self._config)

    def _model_to_serve(self, features):
        return self._call_model_fn(features, None, ModeKeys.PREDICT, self._config)

    def export_savedmodel(self, export_dir_base: PathLike, serving_input_receiver_fn: Callable[[], Any],
                          assets_extra: Mapping[str, str] | None = None, as_text: bool = False,
                          checkpoint_path: PathLike | None = None, strip_default_attrs: bool = False) -> bytes:
        """An old name of export_saved_model()."""
        return self.export_saved_model(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path)


def _trained(spec, made):
    """The last loss, when the session has ended."""
    loss = None
    with made as session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    return loss


def _chosen(predictions, keys):
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    found = {k: v for k, v in predictions.items() if k in keys}
    if not found:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {list(keys)}.")
    return found


def _rows(found):
    """What was found for each row of a batch."""
    if not isinstance(found, dict):
        return list(found)
    sizes = {k: len(v) if np.ndim(v) else None for k, v in found.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        raise ValueError(f"Batch length of predictions should be same. Found: {sizes}")
    return [{k: v[i] for k, v in found.items()} for i in range(next(iter(sizes.values())))]
