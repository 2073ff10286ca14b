# SPDX-License-Identifier: Apache-2.0
"""Files of kept steps: graph, fetches, feeds, variables and what else a step was given, as a zip archive of messages and one page of JSON."""
from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from typing import TYPE_CHECKING

from thalweg import messages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

_FORMAT = 1
_PAGE = "step.json"


class StepFileError(ValueError):
    """A file that holds no kept step, or is damaged."""


@dataclasses.dataclass
class KeptStep:
    """A step as it was asked for, and what it was given. Tensors go by their names, variables by those of their operations."""

    graph: messages.GraphDef
    fetches: list[str]
    feeds: dict[str, Any] = dataclasses.field(default_factory=dict)
    state: dict[str, Any] = dataclasses.field(default_factory=dict)
    state_is_of: str = ""  # "before" the step or "after" it
    given: dict[str, Any] = dataclasses.field(default_factory=dict)  # what random operations, iterators, queues, functions of Python gave
    lost: dict[str, str] = dataclasses.field(default_factory=dict)  # what could not be kept, and why
    error: dict[str, Any] = dataclasses.field(default_factory=dict)  # its type, code, message and operation
    run: int = 0
    target: str = ""
    config: messages.ConfigProto | None = None
    options: messages.RunOptions | None = None

    def save(self, path: str) -> None:
        """Writes the file as a whole or not at all."""
        temporary = f"{path}.tmp{os.getpid()}"
        try:
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                page: dict[str, Any] = {"format": _FORMAT, "run": self.run, "target": self.target, "fetches": self.fetches, "error": self.error,
                                        "state_is_of": self.state_is_of, "lost": self.lost}
                for kind in ("feeds", "state", "given"):
                    page[kind] = _write_tensors(archive, kind, getattr(self, kind))
                for kind in ("graph", "config", "options"):
                    message = getattr(self, kind)
                    if message is not None:
                        archive.writestr(f"{kind}.pb", message.SerializeToString())
                archive.writestr(_PAGE, json.dumps(page, indent=1))
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)

    @classmethod
    def load(cls, path: str) -> Self:
        """Reads a file.

        Raises
        ------
        OSError
            It cannot be read.
        StepFileError
            It holds no step.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                page = json.loads(archive.read(_PAGE))
                if page["format"] != _FORMAT:
                    raise StepFileError(f"{path}: the step is of format {page['format']!r}, this release reads {_FORMAT}")
                present = archive.namelist()
                read = {kind: _message(archive, f"{kind}.pb", make) if f"{kind}.pb" in present else None
                        for kind, make in (("graph", messages.GraphDef), ("config", messages.ConfigProto), ("options", messages.RunOptions))}
                if read["graph"] is None:
                    raise StepFileError(f"{path}: the file of a step must have a graph.pb; it has {', '.join(sorted(present))}")
                tensors = {kind: _read_tensors(archive, page[kind]) for kind in ("feeds", "state", "given")}
                plain = {kind: _checked(page, kind, wanted) for kind, wanted in (("fetches", list), ("error", dict), ("lost", dict), ("run", int),
                                                                                ("target", str), ("state_is_of", str))}
        except StepFileError:
            raise
        except OSError:
            raise
        except Exception as error:  # of the archive, of JSON, of messages
            raise StepFileError(f"{path} is no file of a kept step, or damaged: {error}") from error
        return cls(**read, **tensors, **plain)


def _checked(page, key, wanted):
    if not isinstance(page[key], wanted):
        raise StepFileError(f"{_PAGE}: {key} must be a {wanted.__name__}, not {page[key]!r}")
    return page[key]


def _message(archive, name, make):
    return make.FromString(archive.read(name))


def _write_tensors(archive: zipfile.ZipFile, kind: str, values: Mapping[str, Any]) -> dict[str, str]:
    """{name: the file of its value}"""
    files = {}
    for name, value in values.items():
        files[name] = f"{kind}/{len(files)}.pb"
        archive.writestr(files[name], messages.make_tensor_proto(value).SerializeToString())
    return files


def _read_tensors(archive: zipfile.ZipFile, files: Mapping[str, str]) -> dict[str, Any]:
    return {name: messages.make_ndarray(_message(archive, file, messages.TensorProto)) for name, file in files.items()}
