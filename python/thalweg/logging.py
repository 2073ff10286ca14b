# SPDX-License-Identifier: Apache-2.0
"""tw.logging: Python's logging under TF1's names; warnings and errors are shown unless set_verbosity says otherwise."""
from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Callable

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_logger = logging.getLogger("thalweg")
debug: Callable[..., None]
info: Callable[..., None]
warning: Callable[..., None]
warn: Callable[..., None]
error: Callable[..., None]
fatal: Callable[..., None]
log: Callable[..., None]
debug, info, warning, warn, error, fatal, log = (_logger.debug, _logger.info, _logger.warning, _logger.warning,
                                                 _logger.error, _logger.critical, _logger.log)


def set_verbosity(v: int | str) -> None:
    """Sets from which level on messages are shown.

    Parameters
    ----------
    v : int or str
        DEBUG, INFO, WARN, ERROR or FATAL of this module, or such a name.

    Examples
    --------
    >>> before = tw.logging.get_verbosity()
    >>> tw.logging.set_verbosity(tw.logging.ERROR)
    >>> tw.logging.set_verbosity(before)
    """
    if not _logger.handlers and not logging.getLogger().handlers:
        _logger.addHandler(logging.StreamHandler())
    _logger.setLevel(v)


def log_if(level: int | str, msg: object, condition: bool, *args: object) -> None:
    """Logs where the condition holds."""
    if condition:
        _logger.log(level, msg, *args)


_counts = {}


def _counted(msg):
    _counts[msg] = _counts.get(msg, -1) + 1
    return _counts[msg]


def log_every_n(level: int | str, msg: object, n: int, *args: object) -> None:
    """Logs the first time and every n times."""
    log_if(level, msg, _counted(msg) % n == 0, *args)


def log_first_n(level: int | str, msg: object, n: int, *args: object) -> None:
    """Logs the first n times."""
    log_if(level, msg, _counted(msg) < n, *args)


def flush() -> None:
    """Writes what the handlers hold back."""
    for handler in _logger.handlers:
        handler.flush()


def vlog(level: int | str, msg: object, *args: object, **kwargs: object) -> None:
    """Logs at a level given as a number."""
    _logger.log(level, msg, *args, **kwargs)


def get_verbosity() -> int:
    """The level below which nothing is shown."""
    return _logger.getEffectiveLevel()


def get_logger() -> logging.Logger:
    """The logger of this package."""
    return _logger


names.complete(globals())
