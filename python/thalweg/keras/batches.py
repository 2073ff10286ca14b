# SPDX-License-Identifier: Apache-2.0
"""fit, evaluate and predict on datasets: batches that a session takes from an iterator of tf.data, for the loops of generators."""
from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING

from thalweg import data, errors
from thalweg.keras import graph_backend, input_dictionaries

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class RanOut(Exception):
    """A dataset has fewer batches than were asked for: `source`, the Batches of it."""

    def __init__(self, source: Batches) -> None:
        super().__init__(f"Your dataset ran out of data after {source.taken} batches")
        self.source = source


def is_input_pipeline(value: object) -> bool:
    """Whether a value is a dataset or an iterator of one."""
    return isinstance(value, data.Dataset) or hasattr(value, "get_next") and hasattr(value, "output_shapes")


def _lists(element):
    """Several inputs are a list to Keras."""
    return list(element) if isinstance(element, tuple) else element


class Batches:
    """The batches of a dataset, `steps` of them and then again from the first; without `steps` to the end, once.

    Each has an iterator of its own: a dataset may be trained on and measured on at once. What the iterator adds to the graph is left to
    the dataset by close(), for the next one: a model can be fit to it again and again. With `or_fewer` as many as there are will do, where
    that is known.
    """

    def __init__(self, source: Any, steps: int | None, argument: str, again: bool = False, or_fewer: bool = False) -> None:
        graph = graph_backend.get_graph()
        self._unused = None
        if hasattr(source, "make_initializable_iterator"):
            kept = source.__dict__.setdefault("_keras_iterators", {})
            if graph not in kept:
                kept.clear()
            self._unused = kept.setdefault(graph, [])
            if not self._unused:
                iterator = source.make_initializable_iterator()
                self._unused.append((iterator.initializer, iterator.get_next(), data.experimental.cardinality(source)))
            self._initializer, element, cardinality = self._unused[-1]
        else:
            self._initializer, element, cardinality = None, source.get_next(), None
        session = graph_backend.get_session()
        count = -2 if cardinality is None else int(session.run(cardinality))
        if count == 0:
            raise ValueError("The dataset has no batches.")
        if steps is None:
            again = True
            if count == -1:
                raise ValueError(f"When passing an infinitely repeating dataset, you must specify the `{argument}` argument.")
            if count < 0:
                raise ValueError(f"How many batches the dataset has is not known before they are read: `{argument}` must be given.")
            steps = count
        elif or_fewer and 0 < count < steps:
            logging.getLogger("thalweg").warning("Your dataset has %d batches, fewer than the %d of `%s`: these are all that are taken.",
                                                 count, steps, argument)
            steps = count
        self.steps, self._again, self.taken, self._argument, self._count = steps, again, 0, argument, count
        self._next = session.make_callable(element)
        self._begin(session)
        if self._unused is not None:
            self._kept = self._unused.pop()

    def close(self) -> None:
        """The iterator may be used by others."""
        if self._unused is not None:
            self._unused.append(self._kept)

    def of_epochs(self, epochs: int) -> int | None:
        """How many of the batches of so many epochs there are; None where that is not known."""
        if self._count < -1:
            return None
        there = self._count if self._count >= 0 else self.steps * epochs
        return epochs * min(self.steps, there) if self._again else min(self.steps * epochs, there)

    def too_few(self) -> ValueError:
        """What is said where it ran out and nothing can be made of what was there."""
        return ValueError(f"{RanOut(self)}, fewer than the {self.steps} of `{self._argument}`")

    def _begin(self, session):
        if self._initializer is not None:
            session.run(self._initializer)
        self.taken = 0

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._again and self.taken == self.steps:
            self._begin(graph_backend.get_session())
        try:
            element = self._next()
        except errors.OutOfRangeError:
            raise RanOut(self) from None
        self.taken += 1
        return tuple(_lists(part) for part in element) if isinstance(element, tuple) else element


@contextlib.contextmanager
def _to_the_end(source, steps):
    """The batches of a dataset for who has no use for a part of what was asked for."""
    with contextlib.closing(Batches(source, steps, "steps", or_fewer=True)) as batches:
        try:
            yield batches
        except RanOut:
            raise batches.too_few() from None


def _refuse(more, **arguments):
    """Raises for `arguments` that have a value, and for what of `more` no loop of Keras takes."""
    unknown = sorted({*more} - {"max_queue_size", "workers", "use_multiprocessing"})
    if unknown:
        raise TypeError(f"Unrecognized keyword arguments: {', '.join(unknown)}")
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, (bool, int, float)) and value == 0):
            raise ValueError(f"`{name}` argument is not supported when input `x` is a dataset or a dataset iterator")


def _ended(model, epoch):
    """The history of a model whose epoch is ended with what was counted of it."""
    callbacks = model._get_callback_model().__dict__["_trained_with"]
    callbacks.on_epoch_end(epoch, {})
    callbacks._call_end_hook("train")
    return model.history


def _forget(model):
    """What a model knew while it was trained."""
    for name in ("_trained_with", "_validated_on"):
        model.__dict__.pop(name, None)


def change_callbacks(module: ModuleType) -> None:
    """A model that begins to be trained knows its callbacks, for data that end within an epoch."""
    begin = module.CallbackList._call_begin_hook

    @functools.wraps(begin)
    def begin_of_model(self, mode):
        if mode == "train":
            self.model.__dict__["_trained_with"] = self
        begin(self, mode)
    module.CallbackList._call_begin_hook = begin_of_model


def change_training(module: ModuleType) -> None:
    """Model.fit, evaluate and predict take datasets; compile says what it does not take."""
    Model = module.Model
    fit, evaluate, predict, compile_model = Model.fit, Model.evaluate, Model.predict, Model.compile

    def compile_graph(self, *args, run_eagerly=None, distribute=None, **kwargs):
        if run_eagerly or distribute is not None:
            raise NotImplementedError("run_eagerly and distribute of compile of tf.keras.Model are not implemented in Thalweg, which runs graphs")
        compile_model(self, *args, **kwargs)

    def fit_batches(self, x=None, y=None, batch_size=None, epochs=1, verbose=1, callbacks=None, validation_split=0.0, validation_data=None,
                    shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0, steps_per_epoch=None, validation_steps=None,
                    validation_freq=1, **kwargs):
        with contextlib.ExitStack() as in_use:
            in_use.callback(_forget, self)
            validated = None
            if is_input_pipeline(validation_data):
                validation_data = validated = in_use.enter_context(
                    contextlib.closing(Batches(validation_data, validation_steps, "validation_steps", again=True)))
                validation_steps = validated.steps
            try:
                if not is_input_pipeline(x):
                    if validated is not None and not module.training_utils.is_generator_or_sequence(x):
                        self.__dict__["_validated_on"] = validated  # for fit_loop
                        validation_split, validation_data, validation_steps = 0.0, None, None
                    return fit(self, x, y, batch_size, epochs, verbose, callbacks, validation_split, validation_data, shuffle, class_weight,
                               sample_weight, initial_epoch, steps_per_epoch, validation_steps, validation_freq, **kwargs)
                _refuse(kwargs, y=y, batch_size=batch_size, validation_split=validation_split, sample_weight=sample_weight)
                input_dictionaries.build_of_elements(self, x.element_spec)
                batches = in_use.enter_context(contextlib.closing(Batches(x, steps_per_epoch, "steps_per_epoch")))
                return self.fit_generator(batches, batches.steps, epochs, verbose=verbose, callbacks=callbacks, class_weight=class_weight,
                                          validation_data=validation_data, validation_steps=validation_steps,
                                          validation_freq=validation_freq, initial_epoch=initial_epoch, workers=0, shuffle=False)
            except RanOut as end:
                if end.source is validated:
                    raise validated.too_few() from None
                logging.getLogger("thalweg").warning("%s; training is interrupted. It needs steps_per_epoch * epochs batches: "
                                                     "dataset.repeat() makes more.", end)
                return _ended(self, initial_epoch + end.source.taken // end.source.steps)

    def evaluate_batches(self, x=None, y=None, batch_size=None, verbose=1, sample_weight=None, steps=None, callbacks=None, **kwargs):
        if not is_input_pipeline(x):
            return evaluate(self, x, y, batch_size, verbose, sample_weight, steps, callbacks, **kwargs)
        _refuse(kwargs, y=y, batch_size=batch_size, sample_weight=sample_weight)
        input_dictionaries.build_of_elements(self, x.element_spec)
        with _to_the_end(x, steps) as batches:
            return self.evaluate_generator(batches, batches.steps, callbacks=callbacks, workers=0, verbose=verbose)

    def predict_batches(self, x, batch_size=None, verbose=0, steps=None, callbacks=None, **kwargs):
        if not is_input_pipeline(x):
            return predict(self, x, batch_size, verbose, steps, callbacks, **kwargs)
        _refuse(kwargs, batch_size=batch_size)
        input_dictionaries.build_of_elements(self, x.element_spec)
        with _to_the_end(x, steps) as batches:
            return self.predict_generator(batches, batches.steps, callbacks=callbacks, workers=0, verbose=verbose)

    for name, changed, before in (("compile", compile_graph, compile_model), ("fit", fit_batches, fit),
                                  ("evaluate", evaluate_batches, evaluate), ("predict", predict_batches, predict)):
        changed.__name__, changed.__doc__ = name, before.__doc__
        setattr(Model, name, changed)
