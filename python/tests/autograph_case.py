# SPDX-License-Identifier: Apache-2.0
"""@case(*arguments): tf.function of a function is called with each tuple of arguments as constants; `t` is the release's module."""
CASES = {}  # name -> (function, tuples of arguments, features)


class _Release:
    """The release at hand."""

    module = None

    def __getattr__(self, name):
        return getattr(self.module, name)


t = _Release()


def case(*calls, **settings):
    def register(function):
        assert function.__name__ not in CASES
        CASES[function.__name__] = function, calls, settings.get("features")
        return function
    return register
