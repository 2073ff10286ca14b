# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.predictor: models as functions of arrays.

    answer = tw.contrib.predictor.from_saved_model("export/1700000000")({"x": [[1.0]]})
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.export_outputs import all_signatures
from thalweg.graph.graph import Graph
from thalweg.graph.session import Session
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY, SERVING
from thalweg.saved_model.reader import load
from thalweg.training.global_steps import create_global_step
from thalweg.training.monitored_session import ChiefSessionCreator, MonitoredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.messages import ConfigProto, SignatureDef


class Predictor:
    """A model as a function of arrays by name; from_saved_model() and from_estimator() give it."""

    def __init__(self, graph: Graph, session: Any, feed_tensors: Mapping[str, str], fetch_tensors: Mapping[str, str]) -> None:
        self._graph, self._session = graph, session
        self._feed, self._fetch = ({name: graph.get_tensor_by_name(tensor) for name, tensor in named.items()}
                                   for named in (feed_tensors, fetch_tensors))

    @property
    def graph(self) -> Graph:
        """The model's graph."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session that has the model's variables."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """The tensors that are fed, by name."""
        return self._feed

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """The tensors that are answered, by name."""
        return self._fetch

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, of inputs by name."""
        unexpected = set(input_dict) - set(self._feed)
        if unexpected:
            raise ValueError(f"Got unexpected keys in input_dict: {unexpected}\nexpected: {set(self._feed)}")
        return self._session.run(self._fetch, {self._feed[name]: value for name, value in input_dict.items()})


def _tensors(signature):
    """{input: name of its tensor}, {output: name of its tensor}"""
    return ({name: info.name for name, info in infos.items()} for infos in (signature.inputs, signature.outputs))


def from_saved_model(export_dir: PathLike, signature_def_key: str | None = None, signature_def: SignatureDef | None = None,
                     input_names: Mapping[str, str] | None = None, output_names: Mapping[str, str] | None = None,
                     tags: str | None = None, graph: Graph | None = None, config: ConfigProto | None = None) -> Predictor:
    """The signature of a SavedModel as a function: the default one, one by its name, or of tensors whose names are given. `tags` are
    separated by commas, "serve" by default."""
    given = [signature_def_key, signature_def, input_names or output_names]
    if sum(value is not None for value in given) > 1:
        raise ValueError("Only one of signature_def_key, signature_def, and input_names with output_names may be specified")
    if (input_names is None) != (output_names is None):
        raise ValueError("input_names and output_names must both be specified, or none of them")
    graph = graph or Graph()
    with graph.as_default():
        session = Session(graph=graph, config=config)
        found = load(session, tags.split(",") if tags else [SERVING], export_dir)
    if input_names is not None:
        return Predictor(graph, session, input_names, output_names)
    key = signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if signature_def is None and key not in found.signature_def:
        raise ValueError(f"Got signature_def_key \"{key}\". Available signatures are {sorted(found.signature_def)}.")
    return Predictor(graph, session, *_tensors(found.signature_def[key] if signature_def is None else signature_def))


def from_estimator(estimator: Estimator, serving_input_receiver_fn: Callable[[], Any], output_key: str | None = None,
                   graph: Graph | None = None, config: ConfigProto | None = None) -> Predictor:
    """The model of an Estimator as a function, with the newest checkpoint: what exporting and loading it would give."""
    if not isinstance(estimator, Estimator):
        raise TypeError(f"Expected estimator to be of type tf.estimator.Estimator, but got type {type(estimator)}.")
    graph, key = graph or Graph(), output_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    with graph.as_default():
        create_global_step(graph)
        receiver = serving_input_receiver_fn()
        spec = estimator._model_to_serve(receiver.features)
        signatures = all_signatures(receiver.receiver_tensors, spec.export_outputs, receiver.receiver_tensors_alternatives)
        if key not in signatures:
            raise ValueError(f"output_key must be one of {sorted(signatures)}, got {key}")
        creator = ChiefSessionCreator(spec.scaffold, config=config or estimator.config.session_config,
                                      checkpoint_filename_with_path=estimator._newest())
        session = MonitoredSession(creator)
    return Predictor(graph, session, *_tensors(signatures[key]))


names.complete(globals())
