# SPDX-License-Identifier: Apache-2.0
"""Slurm on this host alone, for a test: munged, slurmctld and slurmd in a folder, on free ports, ended with it."""
import contextlib
import os
import pathlib
import subprocess
import time

from thalweg.cluster.local_cluster import free_ports

CONF = """
ClusterName=thalweg
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def _wait(what, is_there, processes, logs, seconds=60):
    end = time.monotonic() + seconds
    while not is_there():
        dead = [p.args[0] for p in processes if p.poll() is not None]
        if dead or time.monotonic() > end:
            said = "\n".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())
            raise RuntimeError(f"Slurm: {what} did not come{f', {dead} ended' if dead else ''}:\n{said}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            processes[-1].wait(0.1)  # looks again ten times a second


@contextlib.contextmanager
def slurm(folder: pathlib.Path):
    """Environment variables with which srun and sbatch find it."""
    folder.chmod(0o755)
    for name in ("state", "spool", "run"):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(folder=folder, ports=free_ports(2)), encoding="utf-8")
    environment = dict(os.environ, SLURM_CONF=str(conf))
    logs = [folder / "munged.out", folder / "slurmctld.log", folder / "slurmd.log", folder / "slurmctld.out", folder / "slurmd.out"]
    processes = []

    def start(name, *arguments):
        with open(folder / f"{name}.out", "wb") as out:
            processes.append(subprocess.Popen([name, *arguments], env=environment, stdout=out, stderr=out, start_new_session=True))

    def answers(*command):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""

    try:
        socket_path = folder / "munge.socket"
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_path}",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")
        _wait("munged", socket_path.exists, processes, logs)
        start("slurmctld", "-D", "-f", str(conf))
        start("slurmd", "-D", "-f", str(conf), "-N", "localhost")
        _wait("an idle node", lambda: "idle" in answers("sinfo", "--noheader", "--format=%t"), processes, logs)
        yield environment
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in reversed(processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)
