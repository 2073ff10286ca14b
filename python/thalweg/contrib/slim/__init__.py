# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.slim: the layers and arg_scope under slim's name, and its providers of data."""
from thalweg import losses, metrics
from thalweg.base import names
from thalweg.contrib.framework import arg_scopes, variables as _variables
from thalweg.contrib.framework.arg_scopes import *  # noqa: F403
from thalweg.contrib.framework.variables import *  # noqa: F403
from thalweg.contrib.layers import *  # noqa: F403
from thalweg.contrib.slim import data_decoder, data_provider, dataset, dataset_data_provider, parallel_reader, prefetch_queue, tfexample_decoder

__all__ = [*arg_scopes.__all__, *_variables.__all__, "data_decoder", "data_provider", "dataset", "dataset_data_provider", "losses", "metrics",
           "parallel_reader", "prefetch_queue", "tfexample_decoder"]

names.complete(globals())
