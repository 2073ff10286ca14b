# SPDX-License-Identifier: Apache-2.0
"""tw.config.threading: threads of sessions without a ConfigProto of their own."""
from thalweg.base import names

names.complete(globals(), {
    "config.choices": "get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads "
                      "set_intra_op_parallelism_threads"})
