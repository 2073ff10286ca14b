# SPDX-License-Identifier: Apache-2.0
"""`fit` on arrays: the loop over epochs and batches where no callback does anything between two batches; else it is that of Keras."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING

import numpy as np

from thalweg.keras import batches, graph_backend, over_replicas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

    from thalweg.base.typing import Array

_BLOCK_BATCHES = 16
_BLOCK_BYTES = 1 << 20


def rows_of(array: Array, rows: Array) -> Array:
    """Some rows of an array, copied; `take` would first copy all of a transposed one."""
    return array.take(rows, 0) if array.flags.c_contiguous else array[rows]


def _block_size(arrays, batch_size):
    """How many rows are taken at once: those of several batches, unless they are large."""
    row_bytes = sum(array.itemsize * int(np.prod(array.shape[1:])) for array in arrays)
    return batch_size * max(1, min(_BLOCK_BATCHES, _BLOCK_BYTES // max(1, row_bytes * batch_size)))


def run_epoch(run: Callable[..., Sequence[Any]], arrays: Sequence[Array], phase: Sequence[int], order: Array, batch_size: int,
              labels: Sequence[str], callbacks: Any) -> bool:
    """Trains on rows in this order; false where a callback, or another thread, has stopped training before the last batch.

    A step of a small model takes as long as what Python does between two of them with cold caches. So rows are taken, and results are
    logged, for several batches at once, where the first of the `callbacks`, a BaseLogger, is the only one to hear of batches.
    """
    begin, end = (callbacks._batch_methods("train", hook) for hook in ("begin", "end"))
    at_once = not begin and end == [callbacks.callbacks[0].on_batch_end]
    number, size = 0, _block_size(arrays, batch_size) if at_once else batch_size
    for first in range(0, len(order), size):
        rows = order[first:first + size]
        block = [rows_of(array, rows) for array in arrays]
        logs = []
        for start in range(0, len(rows), batch_size):
            batch = slice(start, start + batch_size)
            logs.append({"batch": number + len(logs), "size": min(batch.stop, len(rows)) - start})
            for method in begin:
                method(number, logs[-1])
            logs[-1].update(zip(labels, run(*[array[batch] for array in block], *phase)))
            if callbacks.model.stop_training:
                break
        for log in logs:
            for method in end:
                method(number, log)
            number += 1
        if callbacks.model.stop_training:
            return number * batch_size >= len(order)
    return True


def _fit_epochs(module, model, steps, fit_inputs, callbacks, *, out_labels, batch_size, epochs, val_function, val_inputs, shuffle,
                initial_epoch, validation_freq):
    """Trains for epochs in which, as it seems, no callback is called for a batch; `callbacks` begin with a BaseLogger and end with the history."""
    phase = [fit_inputs[-1]] if isinstance(fit_inputs[-1], int) else []
    arrays = fit_inputs[:len(fit_inputs) - len(phase)]
    order = np.arange(module.check_num_samples(fit_inputs, batch_size=batch_size))
    validates = bool(val_function and val_inputs)
    callbacks.set_model(model._get_callback_model())
    callbacks.set_params({"batch_size": batch_size, "epochs": epochs, "steps": None, "samples": len(order), "verbose": 0,
                          "do_validation": validates,
                          "metrics": [*model.metrics_names, *("val_" + name for name in model.metrics_names if validates)]})
    callbacks._call_begin_hook("train")
    callbacks.model.stop_training = False
    for callback in callbacks:
        callback.validation_data = val_inputs
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        if shuffle:
            np.random.shuffle(order)
        whole = run_epoch(steps.run(), arrays, phase, order, batch_size, out_labels, callbacks)
        logs = {}
        if whole and validates and module.should_run_validation(validation_freq, epoch):
            found = module.test_loop(model, val_function, val_inputs, batch_size=batch_size, callbacks=callbacks, verbose=0)
            logs.update(zip(("val_" + label for label in out_labels), module.to_list(found)))
        callbacks.on_epoch_end(epoch, logs)
        if callbacks.model.stop_training:
            break
    callbacks._call_end_hook("train")
    return model.history


def change_training_arrays(module: ModuleType) -> None:
    """Changes keras.engine.training_arrays: takes rows of arrays fast, and runs epochs as above where it may."""
    slice_arrays, fit_loop, test_loop = module.slice_arrays, module.fit_loop, module.test_loop
    signature = inspect.signature(fit_loop)

    def may_begin(model, doing, inputs, size, steps, epochs=0, to_validate=0):
        """Where there are no rows, or other workers make other steps, says so before the first one."""
        rows = module.check_num_samples(inputs, batch_size=size, steps=steps)
        if rows == 0:
            raise ValueError(f"there is nothing to {doing}: the arrays have no rows, the first one has the shape {inputs[0].shape}")
        of_rows = 0 if rows is None else -(-rows // size)
        over_replicas.check_steps(model, doing, steps or of_rows, size, epochs, to_validate)

    def slice_batch(arrays, start=None, stop=None):
        if type(start) is np.ndarray and type(arrays) is list and {*map(type, arrays)} == {np.ndarray}:
            return [rows_of(array, start) for array in arrays]
        return slice_arrays(arrays, start, stop)

    @functools.wraps(fit_loop)
    def fit_arrays(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        arguments = given.arguments
        model, function, inputs = (arguments.pop(name) for name in ("model", "fit_function", "fit_inputs"))
        size, validation, to_validate = arguments["batch_size"], arguments["val_inputs"], arguments["validation_steps"]
        validated = model.__dict__.get("_validated_on")
        if validated is not None:
            if any(getattr(callback, "histogram_freq", 0) for callback in arguments["callbacks"] or []):  # it feeds them at once
                raise ValueError("histograms of TensorBoard need arrays as validation_data, got a dataset")
            model._make_test_function()
            arguments.update(val_function=model.test_function, val_inputs=[validated],
                             validation_steps=validated.steps if arguments["steps_per_epoch"] else None)
            to_validate = validated.of_epochs(1) or validated.steps
        elif not to_validate and validation and size:
            to_validate = -(-len(validation[0]) // size)
        may_begin(model, "train on", inputs, size, arguments["steps_per_epoch"], arguments["epochs"] - arguments["initial_epoch"], to_validate)
        steps = function.repeated(inputs) if isinstance(function, graph_backend.Function) else function
        if steps is not function and not any(arguments[name] for name in ("steps_per_epoch", "validation_steps", "verbose")):
            history = module.cbks.History()
            logger = module.cbks.BaseLogger(stateful_metrics=model.metrics_names[1:])
            callbacks = module.cbks.CallbackList([logger, *(arguments["callbacks"] or []), history])
            begin, end = (callbacks._batch_methods("train", hook) for hook in ("begin", "end"))
            if not begin and end == [logger.on_batch_end] and arguments["shuffle"] != "batch":
                model.history = history
                left = ("callbacks", "steps_per_epoch", "validation_steps", "verbose")
                return _fit_epochs(module, model, steps, inputs, callbacks, **{k: v for k, v in arguments.items() if k not in left})
        return fit_loop(model, steps, inputs, **arguments)

    @functools.wraps(test_loop)
    def test_arrays(model, f, ins, batch_size=None, verbose=0, steps=None, callbacks=None):
        if ins and isinstance(ins[0], batches.Batches):
            return model.evaluate_generator(ins[0], ins[0].steps, callbacks=callbacks, workers=0)
        if not isinstance(callbacks, module.cbks.CallbackList):  # fit has compared what it validates on
            may_begin(model, "evaluate", ins, batch_size, steps)
        return test_loop(model, f, ins, batch_size, verbose, steps, callbacks)
    module.slice_arrays, module.fit_loop, module.test_loop = slice_batch, fit_arrays, test_arrays
