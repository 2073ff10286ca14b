# SPDX-License-Identifier: Apache-2.0
"""The devices of this machine."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.messages import ConfigProto, DeviceAttributes


def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """The devices of this process as messages: name, device_type, memory_limit, incarnation.

    >>> from thalweg.graph.device_lib import list_local_devices
    >>> print([device.name for device in list_local_devices()])
    ['/device:CPU:0']
    """
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    with Session(graph=Graph(), config=session_config) as session:
        devices = session._device_messages()
    for device in devices:
        device.name = device.name[device.name.index("/device:"):]
        device.locality.SetInParent()
    return devices
