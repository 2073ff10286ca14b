# SPDX-License-Identifier: Apache-2.0
"""The devices of this machine."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.graph.session import DeviceAttributes
    from thalweg.messages import ConfigProto


def list_local_devices(session_config: ConfigProto | None = None) -> list[DeviceAttributes]:
    """Devices with name and device_type."""
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    with Session(graph=Graph(), config=session_config) as session:
        return session.list_devices()
