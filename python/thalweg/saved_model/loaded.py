# SPDX-License-Identifier: Apache-2.0
"""Models to run, not to change: a SavedModel, a MetaGraph or a GraphDef as an object that is called with arrays."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg import _core, dtypes
from thalweg.graph import environment, session as _errors_of_runs  # noqa: F401  (which exceptions they are)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.base.typing import PathLike


class ModelTensor(NamedTuple):
    """An input or output of a signature.

    Attributes
    ----------
    name : str
        What the signature calls it.
    tensor : str
        What the graph calls it, "dense/BiasAdd:0".
    dtype : DType or None
        None where the signature cannot be run.
    shape : list or None
        None where not even the rank is known, and for a dimension that is not.
    optional : bool
        An input that has a default.
    """

    name: str
    tensor: str
    dtype: dtypes.DType | None
    shape: list[int | None] | None
    optional: bool

    def __str__(self) -> str:
        shape = "" if self.shape is None else f" [{', '.join('?' if d is None else str(d) for d in self.shape)}]"
        return f"{self.name}: {self.dtype.name if self.dtype else '?'}{shape}{' (optional)' if self.optional else ''}"


class ModelSignature(NamedTuple):
    """What a model does under one name: inputs and outputs by their names, and why it cannot be run, if it cannot.

    Attributes
    ----------
    name, method : str
    inputs, outputs : dict of str to ModelTensor
    unusable : str
        "" for one that can be run.
    """

    name: str
    method: str
    inputs: dict[str, ModelTensor]
    outputs: dict[str, ModelTensor]
    unusable: str

    def __str__(self) -> str:
        if self.unusable:
            return f"{self.name}: {self.unusable}"
        return f"{self.name}({', '.join(map(str, self.inputs.values()))}) -> {', '.join(map(str, self.outputs.values()))}"


def _tensors(rows):
    """The types of a signature that cannot be run may not be known."""
    return {row[0]: ModelTensor(row[0], row[1], dtypes.as_dtype(row[2]) if row[2] else None, row[3], row[4]) for row in rows}


class Model(_core.Model):
    """A loaded model: `model(x=array)` runs its default signature; see `load`.

    Inputs are given by name, or without one where there is one. They are arrays, whatever numpy makes arrays of, or what speaks
    DLPack; a large one of the right type is not copied and must not change meanwhile. One output is an array, several are a
    dictionary by name; their memory is handed over where nobody else uses it.

    Attributes
    ----------
    path, kind : str
        Where it is from; "SavedModel", "MetaGraph" or "GraphDef".
    tags : list of str
    signatures : dict of str to ModelSignature
    unknown_operations : str
        "", or operations of the model that this build does not have, with the nearest ones.
    """

    def __init__(self, environment: _core.Environment, path: str, tags: list[str], map_weights: bool = False) -> None:
        count, self.kind, found, self.unknown_operations = self._facts()
        self.path, self.tags = path, found.split(",") if found else []
        described = map(self._describe, range(count))
        self.signatures = {name: ModelSignature(name, method, _tensors(inputs), _tensors(outputs), unusable)
                           for name, method, inputs, outputs, unusable in described}

    def signature(self, name: str | None = None) -> _core.ModelFunction:
        """A signature as a function that is planned already.

        Parameters
        ----------
        name : str, optional
            By default "serving_default", or the only one.

        Raises
        ------
        errors.NotFoundError
            There is none of this name, or it needs operations that this build does not have.
        """
        return self._prepare(name)

    def fetch(self, tensors: str | Sequence[str], inputs: Mapping[str, Any] | None = None, signature: str | None = None) -> Any:
        """Any tensors of the model's graph; only what they need runs.

        Parameters
        ----------
        tensors : str or sequence of str
            Outputs of the signature, or tensors: "dense/BiasAdd:0".
        inputs : dict, optional
            Values of inputs of the signature, or of any tensors, by name; of their own type: nothing is converted.
        signature : str, optional
            By default "serving_default", or the only one; a graph without any has tensors, too.

        Returns
        -------
        array or list of array
        """
        wanted = [tensors] if isinstance(tensors, str) else list(tensors)
        found = self._fetch(signature, wanted, dict(inputs or {}))
        return found[0] if isinstance(tensors, str) else found

    def convert(self, out: PathLike, signature: str | None = None, *, saved_model: bool = False, fold_batch_norms: bool = True) -> None:
        """Writes what a signature computes as a frozen graph: no variables, no functions, nothing that it does not need.

        Inputs and outputs are called as the signature calls them, so that `load(out)` has the same signature. TensorFlow reads it, too.

        Parameters
        ----------
        out : str or path
            A GraphDef's file, which is text where its name ends in ".pbtxt"; a SavedModel's folder.
        signature : str, optional
            By default "serving_default", or the only one.
        saved_model : bool
            A SavedModel, which also holds the contents of the tables, instead of a GraphDef.
        fold_batch_norms : bool
            Batch normalizations become part of the weights before them, which rounds these once. Without, results are the same bits.

        Raises
        ------
        errors.FailedPreconditionError
            The signature changes its variables, or needs a table and a GraphDef is asked for.
        """
        self._convert(signature, out, saved_model, not fold_batch_norms)

    def costs(self, signature: str | None = None, batch: int = 1, shapes: Mapping[str, Sequence[int | None]] | None = None) -> dict[str, Any]:
        """What a step of a signature costs: arithmetic operations, bytes that are moved, memory.

        Parameters
        ----------
        signature : str, optional
            By default "serving_default", or the only one.
        batch : int
            The first dimension of inputs that leave it open.
        shapes : dict, optional
            Shapes of inputs, by name, that are known better than the signature knows them.

        Returns
        -------
        dict
            "flops", "bytes", "parameter_bytes", "peak_bytes" and "operations", as `thalweg inspect --json --batch` writes them.
        """
        known = {name: [-1 if d is None else int(d) for d in shape] for name, shape in (shapes or {}).items()}
        return json.loads(self._costs(signature, batch, known))

    def verify(self, inputs: Mapping[str, Any], values: Mapping[str, Any], signature: str | None = None, *, atol: float = 1e-6,
               rtol: float = 1e-4) -> dict[str, Any]:
        """Runs a signature with recorded inputs and compares recorded values of it, or of any tensors of the graph.

        Parameters
        ----------
        inputs, values : dict
            Arrays by names of the signature or of tensors, "dense/BiasAdd:0".
        signature : str, optional
            Which is run; by default the only one, or "serving_default".
        atol, rtol : float
            Floating-point numbers a and b are equal where |a - b| <= atol + rtol * |b|.

        Returns
        -------
        dict
            "same"; "first", the place in "values" of the first that differs, or None; "values", each with its difference, in an
            order in which they can be computed.
        """
        return json.loads(self._verify(signature, dict(inputs), dict(values), atol, rtol))

    def __repr__(self) -> str:
        about = "".join(f", {what}" for what in (self.kind, f"tags {self.tags}" if self.tags else "") if what)
        unknown = f"\n  unknown operations: {self.unknown_operations}" if self.unknown_operations else ""
        return "\n  ".join([f"Model({self.path!r}{about})", *map(str, self.signatures.values())]) + unknown


def load(path: PathLike, tags: str | Sequence[str] | None = None, *, map_weights: bool = False) -> Model:
    """Loads a model that TensorFlow, Keras or Thalweg has written, ready to run.

    Parameters
    ----------
    path : str or path
        The folder of a SavedModel; the file of a MetaGraph, with its checkpoint beside it; the file of a GraphDef.
    tags : str or sequence of str, optional
        Which graph of a SavedModel is meant; by default the only one, or that for serving.
    map_weights : bool
        Variables of 64 KiB and more are pages of their files, where they stand there as in memory: shared with other processes,
        not read before they are used, their checksums not looked at. The files must stay as they are, though others may take their names: a
        run ends with a DataLossError where one was cut short or written into. It sets a handler of SIGBUS in the process.

    Returns
    -------
    Model
        Its variables are read and checked, its tables filled: the files may change or go then.

    Raises
    ------
    errors.NotFoundError, errors.InvalidArgumentError, errors.FailedPreconditionError, errors.DataLossError
        There is no model, half a model, a newer one or a damaged one: in one sentence that begins with the path.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [None, 2], name="x")
    >>> y = tw.add(x, 1.0, name="y")
    >>> with open("graph.pb", "wb") as f:
    ...     n = f.write(tw.get_default_graph().as_graph_def().SerializeToString())
    >>> model = tw.load("graph.pb")
    >>> model
    Model('graph.pb', GraphDef)
      serving_default(x: float32 [?, 2]) -> y: float32 [?, 2]
    >>> model(x=[[1, 2]])
    array([[2., 3.]], dtype=float32)
    """
    return Model(environment.environment(), os.fspath(path), [tags] if isinstance(tags, str) else list(tags or ()), map_weights)
