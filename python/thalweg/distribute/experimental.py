# SPDX-License-Identifier: Apache-2.0
"""tw.distribute.experimental."""
from thalweg.base import names

names.complete(globals(), {"distribute.reductions": "CollectiveCommunication",
                           "distribute.multi_worker": "MultiWorkerMirroredStrategy",
                           "distribute.strategies": "CentralStorageStrategy ParameterServerStrategy"})
