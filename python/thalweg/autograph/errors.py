# SPDX-License-Identifier: Apache-2.0
"""What goes wrong when a function is converted."""


class AutoGraphError(Exception):
    """Base of the errors of tf.autograph."""


class ConversionError(AutoGraphError):
    """tf.autograph.to_graph could not convert a function."""


class UnsupportedError(Exception):
    """A function has something that is not converted, or its source is not to be found: it runs as it is."""
