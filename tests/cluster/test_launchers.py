# SPDX-License-Identifier: Apache-2.0
"""examples/launch: the same training by Slurm and by an MPI launcher, the manifests of Kubernetes, tasks as Ray actors."""
import os
import signal
import sys

import kubernetes_validate
import pytest
import yaml
from conftest import check_training, output_of
from slurm_host import slurm


def free_port(count):
    """The first of some ports in a row that are free."""
    import socket
    for first in range(20000, 60000, count):
        with socket.socket() as low, socket.socket() as high:
            try:
                low.bind(("127.0.0.1", first))
                high.bind(("127.0.0.1", first + count - 1))
                return str(first)
            except OSError:
                continue
    raise RuntimeError("no free ports")


def test_slurm_runs_the_tasks_of_a_step(tmp_path, examples):
    with slurm(tmp_path) as environment:
        text = output_of(["srun", "--ntasks=3", "--overcommit", sys.executable, str(examples / "train.py"), "--slurm",
                          "ps=1,worker=2", "--port", free_port(3)], environment)
        check_training(text)
        # And as a batch job.
        environment.update(PYTHON=sys.executable, TRAIN=str(examples / "train.py"), PORT=free_port(3))
        output_of(["sbatch", "--wait", f"--output={tmp_path}/job.out", str(examples / "slurm.sh")], environment, folder=tmp_path)
        check_training((tmp_path / "job.out").read_text(encoding="utf-8"))


def test_an_mpi_launcher_runs_the_tasks(examples):
    command = ["mpirun", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-np", "3", sys.executable,
               str(examples / "mpi.py")]
    check_training(output_of(command))


def test_an_mpi_launcher_needs_two_tasks(examples):
    command = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-np", "1", sys.executable, str(examples / "mpi.py")]
    with pytest.raises(AssertionError, match="a parameter server and a worker at least"):
        output_of(command)


@pytest.fixture(name="manifests")
def the_manifests(examples):
    with open(examples / "kubernetes.yaml", encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def test_the_manifests_are_valid(manifests):
    assert [m["kind"] for m in manifests] == ["ConfigMap", "Service", "Service", "StatefulSet", "StatefulSet"]
    version = kubernetes_validate.latest_version()
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)
    broken = dict(manifests[3], spec=dict(manifests[3]["spec"], replicas="two"))
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_the_manifests_describe_one_cluster(manifests):
    """Names, ports and numbers of tasks fit each other, as nothing but a cluster would check."""
    import json

    import thalweg as tf
    spec = tf.train.ClusterSpec(json.loads(manifests[0]["data"]["cluster.json"]))
    sets = {m["metadata"]["name"]: m for m in manifests if m["kind"] == "StatefulSet"}
    services = {m["metadata"]["name"]: m["spec"] for m in manifests if m["kind"] == "Service"}
    assert sorted(sets) == sorted(services) == sorted(spec.jobs)
    for job, one in sets.items():
        assert one["spec"]["serviceName"] == job and one["spec"]["replicas"] == spec.num_tasks(job)
        port = services[job]["ports"][0]["port"]
        assert spec.job_tasks(job) == [f"{job}-{n}.{job}:{port}" for n in range(spec.num_tasks(job))]
        assert services[job]["selector"] == one["spec"]["template"]["metadata"]["labels"]
        container = one["spec"]["template"]["spec"]["containers"][0]
        assert {e["name"] for e in container["env"]} == {f"THALWEG_TLS_{n}" for n in ("CERT", "KEY", "CA")}


def test_ray_runs_tasks_and_starts_them_again(examples):
    assert "total 1350.0" in output_of([sys.executable, str(examples / "ray_tasks.py")])


def test_ray_starts_a_killed_task_again():
    import ray
    import ray_tasks
    import thalweg as tf
    ray.init(include_dashboard=False, num_cpus=4, runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})
    try:
        _, tasks = ray_tasks.start(workers=1)
        target = ray.get(tasks["worker", 0].target.remote())
        with tf.Graph().as_default():
            with tf.device("/job:ps"):
                value = tf.constant(20.0) + tf.placeholder_with_default(1.0, [])
            with tf.Session(target) as session:
                assert session.run(value) == 21
                process = ray.get(tasks["ps", 0].process.remote())
                os.kill(process, signal.SIGKILL)
                with pytest.raises(tf.errors.OpError):  # the task of this session is gone
                    for _ in range(1000):
                        session.run(value)
            assert ray.get(tasks["ps", 0].process.remote(), timeout=120) != process
            with tf.Session(target) as session:
                assert session.run(value) == 21
    finally:
        ray.shutdown()
