# SPDX-License-Identifier: Apache-2.0
"""The module `tensorflow` of thalweg.as_tensorflow: thalweg itself under TensorFlow's name."""
import types

import thalweg


def _is_own(name):
    """Whether a module has it for itself, whatever it stands for: what an import looks at."""
    return name in ("__name__", "__spec__", "__loader__", "__package__", "__path__", "__doc__", "__dict__", "__class__")


class TensorFlow(types.ModuleType):
    """Everything that is asked of it, set or deleted is so in thalweg; but its name is tensorflow."""

    def __init__(self):
        super().__init__("tensorflow", "TensorFlow 1.15, as Thalweg has it.")
        self.__path__ = list(thalweg.__path__)

    def __getattr__(self, name):
        if _is_own(name):
            raise AttributeError(name)
        return getattr(thalweg, name)

    def __setattr__(self, name, value):
        if _is_own(name):
            super().__setattr__(name, value)
        else:
            setattr(thalweg, name, value)

    def __delattr__(self, name):
        delattr(thalweg, name)

    def __dir__(self):
        return dir(thalweg)
