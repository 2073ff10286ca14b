# SPDX-License-Identifier: Apache-2.0
"""Two hosts made of network namespaces, joined by a bridge: links that the kernel cuts and slows. All of it belongs to processes that
are started here (nothing gets a name that outlives them), and goes with them, however they end."""
import itertools
import os
import subprocess
import sys

import waiting

NUMBERS = itertools.count(1)
SLOW = "rate 100mbit burst 32kb limit 200kb"  # of tbf; what does not fit into the queue is lost
NARROW = "rate 16mbit burst 32kb limit 64kb"
# The first that the kernel knows: late, lost and in another order; else slow, and lost where too much comes at once.
SLOWS = ("netem delay 10ms 3ms loss 1% reorder 5%", f"tbf {SLOW}")
BASE_PORT = 7000


def alone():
    """The command that runs another one in namespaces of its own: what is made and started there ends with it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def ip(*words):
    return _tool("ip", *words)


def _tool(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stdout.strip()}"


def why_not():
    """Why this machine does not let us have hosts; None where it does."""
    try:
        _tool(*alone(), sys.executable, os.path.abspath(__file__))
    except (AssertionError, OSError, subprocess.SubprocessError) as e:
        return str(e)
    return None


class Host:
    """A network namespace, kept by a process that waits for its input to end."""

    def __init__(self, device, address):
        self.device, self.address = device, address
        self._keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert waiting.read_line(self._keeper.stdout, 60, "the keeper of a host") == "ready\n"
        self.within = ("nsenter", f"--net=/proc/{self._keeper.pid}/ns/net")
        ip("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", self._keeper.pid)
        ip("link", "set", device, "up")
        _tool(*self.within, "ip", "link", "set", "lo", "up")
        _tool(*self.within, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        _tool(*self.within, "ip", "link", "set", "eth0", "up")

    def passed(self):
        """Bytes that have gone in and out."""
        with open("/proc/net/dev", encoding="ascii") as f:
            numbers = next(line for line in f if line.split(":")[0].strip() == self.device).split(":")[1].split()
        return int(numbers[0]) + int(numbers[8])

    def shape(self, words):
        """Both directions, by this discipline of the kernel's."""
        _tool("tc", "qdisc", "replace", "dev", self.device, "root", *words.split())
        _tool(*self.within, "tc", "qdisc", "replace", "dev", "eth0", "root", *words.split())

    def unshape(self):
        for around, device in (((), self.device), (self.within, "eth0")):
            subprocess.run([*around, "tc", "qdisc", "del", "dev", device, "root"], stderr=subprocess.DEVNULL, timeout=60, check=False)

    def close(self):
        self._keeper.kill()
        self._keeper.wait(60)
        self._keeper.stdin.close()
        self._keeper.stdout.close()


class Hosts:
    """As links.Proxies: one task (or the client's process) stands on a host of its own, the others on another. Who looks on is a third
    host. In a process of `alone()` only."""

    options = ("--insecure",)  # between hosts; there are no others in these networks

    def __init__(self, away):
        number = next(NUMBERS)
        self._away = away
        self._bridge = f"br{number}"
        ip("link", "add", self._bridge, "type", "bridge")
        ip("link", "set", self._bridge, "up")
        ip("addr", "add", f"10.64.{number}.1/24", "dev", self._bridge)
        self.hosts = {place: Host(f"{place}{number}", f"10.64.{number}.{i}") for i, place in ((2, "home"), (3, "away"))}
        for host in self.hosts.values():
            ip("link", "set", host.device, "master", self._bridge)

    def host_of(self, name):
        return self.hosts["away" if name == self._away else "home"]

    def address(self, _, name):
        return f"{self.host_of(name).address}:{BASE_PORT + ('master', 'ps', 'worker').index(name)}"

    def here(self, name):
        return self.address(None, name)

    def around(self, name):
        return self.host_of(name).within

    def started(self, name, address):
        assert address == self.address(None, name), (name, address)

    def ends(self, name):
        """Its address stays its own."""

    def client_address(self):
        return self.address(None, "master")

    def partition(self, name):
        """The cable is pulled."""
        ip("link", "set", self.host_of(name).device, "down")

    def slow(self, name):
        for words in SLOWS:
            try:
                return self.host_of(name).shape(words)
            except AssertionError:
                if words == SLOWS[-1]:
                    raise
        return None

    def narrow(self, name):
        self.host_of(name).shape(f"tbf {NARROW}")

    def mend(self, name):
        host = self.host_of(name)
        ip("link", "set", host.device, "up")
        host.unshape()

    def in_a_transfer(self, _sender, _receiver, action):
        """When a megabyte has passed between the hosts. The link is slow meanwhile, so that it takes a while."""
        host = self.hosts["away"]
        host.shape(f"tbf {SLOW}")
        before = host.passed()

        def watch():
            assert waiting.wait_for(lambda: host.passed() - before > 1 << 20, 60), "nothing has passed"
            action()

        waiting.Later(watch)

    def close(self):
        for host in self.hosts.values():
            host.close()
        ip("link", "del", self._bridge)


def main():
    """What the rows need, tried once."""
    hosts = Hosts("ps")
    hosts.hosts["away"].shape(f"tbf {SLOW}")
    hosts.partition("ps")
    hosts.mend("ps")
    hosts.slow("ps")
    hosts.close()


if __name__ == "__main__":
    main()
