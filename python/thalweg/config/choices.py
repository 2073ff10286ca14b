# SPDX-License-Identifier: Apache-2.0
"""What the program has chosen for all sessions that are made later without a ConfigProto: fields of the one that they get.

Nothing chosen, they get none, as before.
"""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg.graph import session
from thalweg.messages import ConfigProto, OptimizerOptions, RewriterConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_POLICIES = ("explicit", "warn", "silent", "silent_for_int32")
# Of set_experimental_options: those that a field of the same name turns on and off, and those that are a number there.
_TOGGLES = ("layout_optimizer", "constant_folding", "shape_optimization", "remapping", "arithmetic_optimization",
            "dependency_optimization", "loop_optimization", "function_optimization", "debug_stripper",
            "scoped_allocator_optimization", "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision")
_VALUES = ("disable_model_pruning", "disable_meta_optimizer", "min_graph_nodes")


@contextlib.contextmanager
def choosing() -> Iterator[ConfigProto]:
    """The ConfigProto of later sessions, to be changed; where nothing is left in it, they get none."""
    config = ConfigProto.FromString(_read().SerializeToString())
    yield config
    for name in ("graph_options", "gpu_options"):
        if config.HasField(name) and not getattr(config, name).SerializeToString():
            config.ClearField(name)
    session.set_default_config(config if config.SerializeToString() else None)


def _read():
    return session.default_config() or ConfigProto()


def get_soft_device_placement() -> bool:
    """Whether a node may run elsewhere than where it asks to.

    Returns
    -------
    bool
        False unless `set_soft_device_placement` has said otherwise.

    Examples
    --------
    >>> tw.config.get_soft_device_placement()
    False
    """
    return _read().allow_soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Nodes of later sessions may run elsewhere than where they ask to.

    Parameters
    ----------
    enabled : bool

    Examples
    --------
    >>> tw.config.set_soft_device_placement(False)
    """
    with choosing() as config:
        config.allow_soft_placement = bool(enabled)


def get_intra_op_parallelism_threads() -> int:
    """How many threads work on one node: 0 where the session decides.

    Returns
    -------
    int

    Examples
    --------
    >>> tw.config.threading.get_intra_op_parallelism_threads()
    0
    """
    return _read().intra_op_parallelism_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """So many threads work on one node, in later sessions.

    Parameters
    ----------
    num_threads : int
        0: the session decides.

    Examples
    --------
    >>> tw.config.threading.set_intra_op_parallelism_threads(0)
    """
    with choosing() as config:
        config.intra_op_parallelism_threads = num_threads


def get_inter_op_parallelism_threads() -> int:
    """How many nodes run at once: 0 where the session decides.

    Returns
    -------
    int

    Examples
    --------
    >>> tw.config.threading.get_inter_op_parallelism_threads()
    0
    """
    return _read().inter_op_parallelism_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """So many nodes run at once, in later sessions.

    Parameters
    ----------
    num_threads : int
        0: the session decides.

    Examples
    --------
    >>> tw.config.threading.set_inter_op_parallelism_threads(0)
    """
    with choosing() as config:
        config.inter_op_parallelism_threads = num_threads


def get_jit() -> bool:
    """Whether later sessions ask for compiled graphs; Thalweg runs them as others.

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.config.optimizer.get_jit()
    False
    """
    return _read().graph_options.optimizer_options.global_jit_level not in (OptimizerOptions.DEFAULT, OptimizerOptions.OFF)


def set_jit(enabled: bool) -> None:
    """Later sessions ask for compiled graphs.

    Parameters
    ----------
    enabled : bool

    Examples
    --------
    >>> tw.config.optimizer.set_jit(False)
    """
    with choosing() as config:
        if enabled:
            config.graph_options.optimizer_options.global_jit_level = OptimizerOptions.ON_1
        elif config.graph_options.HasField("optimizer_options"):
            config.graph_options.ClearField("optimizer_options")


def get_experimental_options() -> dict[str, bool | int]:
    """Which passes over graphs the program has turned on or off.

    Returns
    -------
    dict
        By name, as `set_experimental_options` takes them.

    Examples
    --------
    >>> tw.config.optimizer.get_experimental_options()["disable_meta_optimizer"]
    False
    """
    options = _read().graph_options.rewrite_options
    found = {name: getattr(options, name) == RewriterConfig.ON for name in _TOGGLES if getattr(options, name) != RewriterConfig.DEFAULT}
    found.update((name, getattr(options, name)) for name in _VALUES if name != "min_graph_nodes" or options.min_graph_nodes)
    return found


def set_experimental_options(options: Mapping[str, bool | int]) -> None:
    """Turns passes over the graphs of later sessions on or off.

    Parameters
    ----------
    options : dict
        `constant_folding`, `arithmetic_optimization` and other fields of RewriterConfig to True or False, `min_graph_nodes` to a number.

    Examples
    --------
    >>> tw.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    """
    with choosing() as config:
        for name, value in options.items():
            if name in _TOGGLES:
                setattr(config.graph_options.rewrite_options, name, RewriterConfig.ON if value else RewriterConfig.OFF)
            elif name in _VALUES and value != getattr(_read().graph_options.rewrite_options, name):
                setattr(config.graph_options.rewrite_options, name, value)


def get_device_policy() -> str:
    """What eager execution does about a tensor that is on another device than its reader.

    Returns
    -------
    str
        "silent": it is copied.

    Examples
    --------
    >>> tw.config.experimental.get_device_policy()
    'silent'
    """
    return "silent"


def set_device_policy(device_policy: str | None) -> None:
    """Takes the one policy there is.

    Parameters
    ----------
    device_policy : str
        "silent"; None is the same.

    Raises
    ------
    ValueError
        For a word that is no policy.
    NotImplementedError
        For another policy.

    Examples
    --------
    >>> tw.config.experimental.set_device_policy("silent")
    """
    if device_policy not in (*_POLICIES, None):
        raise ValueError("Not a valid device policy: %r" % device_policy)
    if device_policy not in ("silent", None):
        raise NotImplementedError(f"device policy {device_policy!r}: tensors are copied without a word (\"silent\")")


def get_synchronous_execution() -> bool:
    """Whether an eager operation has ended when its call returns.

    Returns
    -------
    bool
        True.

    Examples
    --------
    >>> tw.config.experimental.get_synchronous_execution()
    True
    """
    return True


def set_synchronous_execution(enable: bool) -> None:
    """Takes the one way there is: an eager operation has ended when its call returns, whatever is asked for.

    Parameters
    ----------
    enable : bool

    Examples
    --------
    >>> tw.config.experimental.set_synchronous_execution(True)
    """
