# SPDX-License-Identifier: Apache-2.0
"""tw.config: what sessions without a ConfigProto run with, and the devices there are; values as 1.15 gave them for the same calls."""
import pytest
import thalweg as tf
from thalweg.config import devices
from thalweg.graph import session as session_module
from thalweg.messages import DeviceAttributes

CPU = devices.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPUS = [devices.PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in (0, 1)]
CUDA = "device: 0, name: Card, compute capability: 8.0"


@pytest.fixture(autouse=True)
def nothing_chosen():
    def forget():
        session_module.set_default_config(None)
        for kept in (devices._visible, devices._virtual, devices._growth):
            kept.clear()
    forget()
    yield
    forget()


@pytest.fixture(name="two_gpus")
def cards(monkeypatch):
    kinds = [("CPU", "", 1 << 34), ("GPU", CUDA, 1 << 30), ("GPU", "device: 1, name: Other, OpenCL 3.0", 1 << 30)]
    found = [DeviceAttributes(name=f"/device:{kind}:{i}", device_type=kind, physical_device_desc=words, memory_limit=limit)
             for i, (kind, words, limit) in enumerate(kinds)]
    monkeypatch.setattr(devices, "list_local_devices", lambda config=None: found)
    monkeypatch.setattr(tf.test, "list_local_devices", lambda config=None: found)
    return found


def device_names(**arguments):
    with tf.Graph().as_default(), tf.Session(**arguments) as session:
        return [d.name.rpartition("/")[2] for d in session.list_devices()]


def test_the_program_of_everybody():
    gpus = tf.config.experimental.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    assert gpus == [] and len(tf.config.experimental.list_logical_devices("GPU")) == 0
    assert tf.config.experimental.list_physical_devices() == tf.config.list_physical_devices() == [CPU]
    assert repr(CPU) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    assert session_module.default_config() is None


def test_what_is_chosen_is_the_config_of_sessions_without_one():
    tf.config.set_soft_device_placement(True)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.optimizer.set_jit(True)
    tf.config.optimizer.set_experimental_options({"constant_folding": False, "min_graph_nodes": 5})
    chosen = session_module.default_config()
    assert chosen.allow_soft_placement and tf.config.get_soft_device_placement()
    assert (chosen.intra_op_parallelism_threads, chosen.inter_op_parallelism_threads) == (2, 1)
    assert tf.config.optimizer.get_jit()
    assert tf.config.optimizer.get_experimental_options() == {
        "constant_folding": False, "disable_model_pruning": False, "disable_meta_optimizer": False, "min_graph_nodes": 5}
    with tf.Graph().as_default(), tf.device("/device:NPU:0"):
        x = tf.constant(1.0) + 1.0
        with tf.Session() as session:
            assert session.run(x) == 2.0
        with tf.Session(config=tf.ConfigProto()) as session, pytest.raises(tf.errors.InvalidArgumentError, match="no device here"):
            session.run(x)


def test_before_anything_is_chosen():
    assert not tf.config.get_soft_device_placement() and not tf.config.optimizer.get_jit()
    assert tf.config.threading.get_intra_op_parallelism_threads() == tf.config.threading.get_inter_op_parallelism_threads() == 0
    assert tf.config.optimizer.get_experimental_options() == {"disable_model_pruning": False, "disable_meta_optimizer": False}
    assert tf.config.experimental.get_synchronous_execution() and tf.config.experimental.get_device_policy() == "silent"
    assert tf.config.experimental.get_virtual_device_configuration(CPU) is None


def test_one_cpu_for_several():
    virtual = [tf.config.experimental.VirtualDeviceConfiguration()] * 2
    tf.config.experimental.set_virtual_device_configuration(CPU, virtual)
    assert tf.config.experimental.get_virtual_device_configuration(CPU) == virtual
    assert device_names() == ["device:CPU:0", "device:CPU:1"] and device_names(config=tf.ConfigProto()) == ["device:CPU:0"]
    assert [d.name for d in tf.config.experimental.list_logical_devices()] == tf.config.experimental_list_devices() == [
        f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in (0, 1)]
    assert tf.config.experimental.list_physical_devices() == [CPU]


def test_gpus_are_chosen_by_number(two_gpus):
    assert tf.config.experimental.get_visible_devices() == [CPU, *GPUS] and len(two_gpus) == 3
    tf.config.experimental.set_visible_devices(GPUS[1], "GPU")
    chosen = session_module.default_config()
    assert chosen.device_count["GPU"] == 1 and chosen.gpu_options.visible_device_list == "1"
    assert tf.config.experimental.get_visible_devices() == [CPU, GPUS[1]]
    tf.config.experimental.set_visible_devices([], "GPU")
    chosen = session_module.default_config()
    assert dict(chosen.device_count) == {"GPU": 0} and chosen.gpu_options.visible_device_list == ""
    assert tf.config.experimental.get_visible_devices("GPU") == []
    tf.config.experimental.set_visible_devices([CPU, *GPUS])
    assert session_module.default_config() is None
    tf.config.experimental.set_visible_devices(GPUS[::-1], "GPU")
    assert session_module.default_config().gpu_options.visible_device_list == "1,0"


def test_what_is_taken_back_leaves_nothing():
    """Sessions then have no ConfigProto again."""
    for enabled in (True, False):
        tf.config.set_soft_device_placement(enabled)
        tf.config.optimizer.set_jit(enabled)
        tf.config.threading.set_intra_op_parallelism_threads(int(enabled))
        tf.config.experimental.set_virtual_device_configuration(CPU, [tf.config.experimental.VirtualDeviceConfiguration()] * (1 + enabled))
        assert (session_module.default_config() is None) != enabled


def test_a_gpu_with_less_memory(two_gpus):
    less = [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=256)]
    tf.config.experimental.set_virtual_device_configuration(GPUS[0], less)
    assert session_module.default_config().gpu_options.per_process_gpu_memory_fraction == 0.25
    whole = [tf.config.experimental.VirtualDeviceConfiguration()]
    tf.config.experimental.set_virtual_device_configuration(GPUS[1], whole)
    assert session_module.default_config().gpu_options.per_process_gpu_memory_fraction == 0.25
    tf.config.experimental.set_virtual_device_configuration(GPUS[0], whole)
    assert session_module.default_config() is None
    for limit in (0, -5):
        with pytest.raises(ValueError, match=f"must be above 0 megabytes, got {limit}"):
            tf.config.experimental.set_virtual_device_configuration(GPUS[0], [tf.config.experimental.VirtualDeviceConfiguration(limit)])
    assert session_module.default_config() is None and tf.config.experimental.get_virtual_device_configuration(GPUS[0]) == whole
    with pytest.raises(NotImplementedError, match="/physical_device:GPU:0 cannot be taken for 2 devices"):
        tf.config.experimental.set_virtual_device_configuration(GPUS[0], less * 2)
    assert two_gpus and not tf.config.experimental.get_memory_growth(GPUS[0])
    tf.config.experimental.set_memory_growth(GPUS[0], True)
    assert tf.config.experimental.get_memory_growth(GPUS[0]) and not tf.config.experimental.get_memory_growth(GPUS[1])


def test_whether_there_is_a_gpu(two_gpus):
    assert tf.test.is_built_with_cuda() and tf.test.is_built_with_gpu_support() and not tf.test.is_built_with_rocm()
    assert tf.test.is_gpu_available() and tf.test.is_gpu_available(cuda_only=True) and tf.test.gpu_device_name() == "/device:GPU:1"
    assert tf.test.is_gpu_available(False, (8, 0)) and not tf.test.is_gpu_available(True, (8, 6))
    del two_gpus[1]
    assert tf.test.is_gpu_available() and not tf.test.is_gpu_available(cuda_only=True)
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(3, 5))


@pytest.mark.parametrize("call, message", [
    (lambda c: c.set_visible_devices(["x"]), "Unrecognized device: 'x'"),
    (lambda c: c.set_visible_devices([CPU], "GPU"), "Unrecognized device"),
    (lambda c: c.set_visible_devices([], "CPU"), "cannot be hidden"),
    (lambda c: c.set_memory_growth(CPU, True), "Cannot set memory growth on non-GPU devices"),
    (lambda c: c.get_memory_growth(CPU), "memory growth is a matter of GPUs"),
    (lambda c: c.set_memory_growth("x", True), "Unrecognized device: 'x'"),
    (lambda c: c.get_virtual_device_configuration("x"), "Unrecognized device: 'x'"),
    (lambda c: c.set_virtual_device_configuration(CPU, [c.VirtualDeviceConfiguration(5)]), "memory limit on CPU"),
    (lambda c: c.set_device_policy("loud"), "Not a valid device policy: 'loud'"),
])
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(tf.config.experimental)
    assert session_module.default_config() is None
