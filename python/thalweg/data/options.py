# SPDX-License-Identifier: Apache-2.0
"""Options of datasets: they are kept for whoever asks. The order of elements is what they tell to pipelines, which
look after themselves otherwise."""
from __future__ import annotations


class _Options:
    """Attributes of any name, None until they are set."""

    _renamed: dict[str, str] = {}  # 2.x's names of those that 1.15 knows

    def __init__(self) -> None:
        self.__dict__["_set"] = {}

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["_set"].get(self._renamed.get(name, name))

    def __setattr__(self, name: str, value: object) -> None:
        self._set[self._renamed.get(name, name)] = value

    def _merged(self, other: _Options) -> _Options:
        """A copy of these, with those of `other` where it has any; also of options within options."""
        merged = type(self)()
        for values in (self._set, other._set):
            for name, value in values.items():
                before = merged._set.get(name)
                if isinstance(value, _Options):
                    merged._set[name] = (before if isinstance(before, type(value)) else type(value)())._merged(value)
                elif value is not None:
                    merged._set[name] = value
        return merged

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._set == self._set

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(type(self))


class OptimizationOptions(_Options):
    """What TensorFlow's optimizer of pipelines would do."""


class ThreadingOptions(_Options):
    """Threads: pipelines here use those of the session."""


class DistributeOptions(_Options):
    """Sharding between workers."""


class AutotuneOptions(_Options):
    """Whether the pipeline is tuned as it goes: `enabled`; budgets are those of the session."""


class StatsOptions(_Options):
    """Statistics."""


class MapVectorizationOptions(_Options):
    """Vectorized maps."""


class Options(_Options):
    """Options of a dataset."""

    _renamed = {"deterministic": "experimental_deterministic", "threading": "experimental_threading"}

    def __init__(self) -> None:
        super().__init__()
        self.experimental_optimization = OptimizationOptions()
        self.experimental_threading = ThreadingOptions()
        self.experimental_distribute = DistributeOptions()
        self.experimental_stats = StatsOptions()
        self.autotune = AutotuneOptions()

    @property
    def tuned(self) -> bool:
        """Whether calls at once and buffers that are left open change as the pipeline goes: `autotune.enabled`, or
        `experimental_optimization.autotune` as 1.15 says it."""
        return getattr(self.autotune, "enabled", None) is not False and \
            getattr(self.experimental_optimization, "autotune", None) is not False

    def merge(self, options: Options) -> Options:
        """These, and those of `options` where it has any."""
        return self._merged(options)
