# SPDX-License-Identifier: Apache-2.0
"""The devices of this machine."""


def list_local_devices(session_config=None):
    """Devices with name and device_type."""
    from thalweg.graph.session import Session
    from thalweg.graph.graph import Graph
    with Session(graph=Graph(), config=session_config) as session:
        return session.list_devices()
