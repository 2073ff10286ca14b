# SPDX-License-Identifier: Apache-2.0
"""Clusters: which tasks there are, and one of them in this process (tf.train.ClusterSpec, tf.train.Server)."""
from __future__ import annotations

import atexit
import contextlib
import os
from typing import TYPE_CHECKING

from thalweg import _core, errors, messages
from thalweg.base import text

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.messages import ConfigProto

ClusterDef = messages.ClusterDef
ServerDef = messages.ServerDef


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks.

    Parameters
    ----------
    cluster : dict, ClusterDef or ClusterSpec
        {"ps": ["HOST:PORT", ...], "worker": {0: "HOST:PORT", 3: ...}}: lists, or dicts by the number of the task.

    Raises
    ------
    TypeError
        It is nothing of that.

    Examples
    --------
    >>> cluster = tw.train.ClusterSpec({"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]})
    >>> cluster.num_tasks("worker"), cluster.task_address("worker", 1)
    (2, '10.0.0.2:2222')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_cluster_def()
        if isinstance(cluster, ClusterDef):
            self._jobs = {job.name: dict(job.tasks.items()) for job in cluster.job}
        elif isinstance(cluster, dict):
            self._jobs = {text.as_str(name): self._tasks(name, tasks) for name, tasks in cluster.items()}
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                            "`ClusterDef` protocol buffer")

    @staticmethod
    def _tasks(job, tasks):
        if isinstance(tasks, (list, tuple)):
            tasks = dict(enumerate(tasks))
        elif not isinstance(tasks, dict):
            raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
        for number, address in tasks.items():
            if not isinstance(number, int) or isinstance(number, bool):
                raise TypeError("Task indices must be integers, or strings")
            if not isinstance(address, (str, bytes)):
                raise TypeError(f"Task address must be bytes or unicode string, but job {job!r} has {address!r}")
        return {number: text.as_str(address) for number, address in tasks.items()}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()})"

    def as_dict(self) -> dict[str, Any]:
        """Jobs by name: a list of addresses, or a dictionary where numbers are left out."""
        return {name: [tasks[i] for i in range(len(tasks))] if set(tasks) == set(range(len(tasks))) else dict(tasks)
                for name, tasks in self._jobs.items()}

    def as_cluster_def(self) -> messages.ClusterDef:
        """The cluster as a message."""
        made = ClusterDef()
        for name in sorted(self._jobs):
            job = made.job.add()
            job.name = name
            for number, address in sorted(self._jobs[name].items()):
                job.tasks[number] = address
        return made

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _job(self, job_name):
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks, in order."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """HOST:PORT of a task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Addresses by number; None where there is no task."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []


def _server_def(given, job_name, task_index, protocol, config):
    made = ServerDef()
    if isinstance(given, ServerDef):
        made.CopyFrom(given)
    else:
        made.cluster.CopyFrom(ClusterSpec(given).as_cluster_def())
        jobs = [job.name for job in made.cluster.job]
        if job_name is None and len(jobs) == 1:
            job_name = jobs[0]
        if job_name is None:
            raise ValueError("Must specify an explicit `job_name`, as the cluster has several.")
        if task_index is None:
            tasks = [job.tasks for job in made.cluster.job if job.name == job_name]
            if not tasks or len(tasks[0]) != 1:
                raise ValueError("Must specify an explicit `task_index`, as the job has several.")
            task_index = next(iter(tasks[0]))
    if job_name is not None:
        made.job_name = job_name
    if task_index is not None:
        made.task_index = task_index
    made.protocol = protocol or made.protocol or "grpc"
    if config is not None:
        made.default_session_config.MergeFrom(config)
    return made


def full_target(target: str) -> str:
    """A target of TLS that names no files takes those of THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TLS_CA."""
    target = text.as_str(target)
    address, _, options = target.partition("?")
    names = ("cert", "key", "ca")
    if not target.startswith("grpcs://") or any(option.split("=")[0] in names for option in options.split("&")):
        return target
    files = [f"{name}={path}" for name in names if (path := os.environ.get(f"THALWEG_TLS_{name.upper()}", ""))]
    return address + "?" + "&".join(files + ([options] if options else []))


_serving = set()  # started and not stopped: they serve until the process ends, whether the program keeps them or not


@atexit.register
def _stop_serving():
    """While the functions that their steps call can still run."""
    for server in list(_serving):
        with contextlib.suppress(errors.FailedPreconditionError):  # in a fork they are not there
            server.stop()


class Server:
    """One task of a cluster, in this process. It serves `Session(server.target)` until stop() or the end of the process, also when the
    program does not keep the object.

    It listens on loopback addresses only, unless it has certificates (`tls`) or `insecure` is set: then nothing is encrypted, and nobody is
    asked who he is.

    Parameters
    ----------
    server_or_cluster_def : ClusterSpec, dict, ClusterDef or ServerDef
    job_name : str, optional
        The job of this task; it may be left out where there is one only.
    task_index : int, optional
        Its number; it may be left out where the job has one only.
    protocol : str, optional
        "grpc".
    config : ConfigProto, optional
        Of sessions that bring none.
    start : bool
        Whether it serves at once; else from start() on.
    insecure : bool
        Whether it may listen on other addresses without certificates.
    tls : tuple of three paths, optional
        The files of its certificate, of its key, and of who signs the others'.
    channels : str
        How values go to other tasks of this kind: "memory", "sockets", "tcp", "calls", or "any" of them, the fastest that can be had; "ucx"
        where it is built with it.
    metrics : str
        PORT or HOST:PORT where GET /metrics tells the task's numbers to Prometheus, unencrypted; PORT alone is on loopback. "": nowhere.
    **limits
        max_message_bytes, max_graph_bytes, max_graph_nodes, max_sessions, max_calls, memory_limit.

    Raises
    ------
    ValueError
        The cluster has no such task.
    errors.UnknownError
        The port is taken.

    Examples
    --------
    >>> server = tw.train.Server.create_local_server()
    >>> with tw.Session(server.target) as sess:
    ...     print(sess.run(tw.constant(2) + 3))
    5
    >>> server.stop()
    """

    def __init__(self, server_or_cluster_def: Any, job_name: str | None = None, task_index: int | None = None,
                 protocol: str | None = None, config: ConfigProto | None = None, start: bool = True, *, insecure: bool = False,
                 tls: tuple[PathLike, PathLike, PathLike] | None = None, channels: str = "any", metrics: str = "",
                 **limits: object) -> None:
        self._def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._options = dict(limits, insecure=insecure, channels=channels, metrics=metrics)
        if tls is not None:
            self._options.update(zip(("tls_cert", "tls_key", "tls_ca"), map(os.fspath, tls), strict=True))
        self._server = None
        if start:
            self.start()

    def start(self) -> None:
        """Listens. Nothing when it does already."""
        if self._server is None:
            self._server = _core.Server(self._def.SerializeToString(), **self._options)
            _serving.add(self._server)

    def _started(self):
        if self._server is None:
            raise RuntimeError("The server has not been started: start() it")
        return self._server

    def join(self) -> None:
        """Waits until the server is stopped."""
        self._started().join()

    def stop(self) -> None:
        """Ends its sessions and calls and frees its port."""
        self._started().stop()
        _serving.discard(self._server)

    @property
    def server_def(self) -> messages.ServerDef:
        """The server as a message."""
        return self._def

    @property
    def target(self) -> str:
        """What a Session of this server is given as its target."""
        return self._started().target

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """A cluster of this process alone, on a free loopback port."""
        return Server({"localhost": ["localhost:0"]}, protocol="grpc", config=config, start=start)
