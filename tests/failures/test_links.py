# SPDX-License-Identifier: Apache-2.0
"""Links between the tasks of a cluster lead to these tasks and to nobody else."""
import socket

import links


def connect(network):
    """A connection over the client's link."""
    host, port = network.client_address().rsplit(":", 1)
    return socket.create_connection((host, int(port)), 10)


def test_whoever_takes_the_port_of_a_killed_task_is_not_reached():
    network = links.Proxies(["master", "ps"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        network.started("master", f"127.0.0.1:{listener.getsockname()[1]}")
        try:
            with connect(network) as asking:
                answering, _ = listener.accept()
                answering.sendall(b"here")
                assert asking.recv(16) == b"here"
                answering.close()
            network.ends("master")
            with connect(network) as asking:
                assert asking.recv(16) == b""
        finally:
            network.close()
