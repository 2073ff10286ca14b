# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.staging: elements that one step puts in and a later one gets."""
from thalweg.base import names
from thalweg.operations.staging import StagingArea  # noqa: F401

names.complete(globals())
