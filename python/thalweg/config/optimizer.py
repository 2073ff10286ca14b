# SPDX-License-Identifier: Apache-2.0
"""tw.config.optimizer: rewriting of graphs in sessions without a ConfigProto of their own."""
from thalweg.base import names

names.complete(globals(), {"config.choices": "get_experimental_options get_jit set_experimental_options set_jit"})
