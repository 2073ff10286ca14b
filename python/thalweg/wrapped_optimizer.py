# SPDX-License-Identifier: Apache-2.0
"""WrappedOptimizer: what optimizers share that hand their work on to another one, `_opt`."""
from thalweg.optimizer import Optimizer


class WrappedOptimizer(Optimizer):
    """Gradients, slots and variables are those of the optimizer within."""

    def __init__(self, opt, use_locking, name):
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args, **kwargs):
        """As the optimizer within."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()
