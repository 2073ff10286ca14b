# SPDX-License-Identifier: Apache-2.0
"""tw.logging: Python's logging under TF1's names; warnings and errors are shown unless set_verbosity says otherwise."""
import logging

from thalweg import names

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_logger = logging.getLogger("thalweg")
debug, info, warning, warn, error, fatal, log = (_logger.debug, _logger.info, _logger.warning, _logger.warning,
                                                 _logger.error, _logger.critical, _logger.log)


def set_verbosity(level):
    if not _logger.handlers and not logging.getLogger().handlers:
        _logger.addHandler(logging.StreamHandler())
    _logger.setLevel(level)


def get_verbosity():
    return _logger.getEffectiveLevel()


names.complete(globals())
