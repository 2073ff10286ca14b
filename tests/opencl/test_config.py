# SPDX-License-Identifier: Apache-2.0
"""What a ConfigProto says of GPUs, in this process and of a server that has it (the sessions of others on it are warned)."""
import pytest
import thalweg as tw
from thalweg.graph.device_lib import list_local_devices

GPU = "/device:GPU:0"


def config_of(count=None, **gpu_options):
    return tw.ConfigProto(device_count={} if count is None else {"GPU": count}, gpu_options=tw.GPUOptions(**gpu_options))


def limits(config):
    return {device.name: device.memory_limit for device in list_local_devices(config)}


def test_a_count_hides_them():
    assert list(limits(config_of(0))) == ["/device:CPU:0"]
    assert list(limits(config_of(1))) == list(limits(config_of(7))) == list(limits(None)) == ["/device:CPU:0", GPU]
    with tw.Graph().as_default(), tw.device("/gpu:0"):
        x = tw.constant(1.0) + 1.0
        with tw.Session(config=config_of(0)) as session, pytest.raises(tw.errors.InvalidArgumentError, match="no device here meets that"):
            session.run(x)
        with tw.Session(config=config_of(1)) as session:
            assert session.run(x) == 2.0


def test_a_list_says_which_they_are():
    assert list(limits(config_of(visible_device_list="0"))) == ["/device:CPU:0", GPU]
    with pytest.raises(tw.errors.InvalidArgumentError, match="visible_device_list names GPU 9, OpenCL has 1"):
        tw.Session(config=config_of(visible_device_list="9"))


def test_a_fraction_limits_their_memory():
    whole, half = limits(None), limits(config_of(per_process_gpu_memory_fraction=0.5))
    assert half[GPU] == whole[GPU] // 2 and half["/device:CPU:0"] == whole["/device:CPU:0"]
    with pytest.raises(tw.errors.InvalidArgumentError, match="per_process_gpu_memory_fraction"):
        tw.Session(config=config_of(per_process_gpu_memory_fraction=2.0))


def test_a_server_has_what_its_config_says(capfd):
    config = config_of(1, per_process_gpu_memory_fraction=0.5, allow_growth=True)
    for own, names in ((config, ["CPU", "GPU"]), (config_of(0), ["CPU"])):
        server = tw.train.Server.create_local_server(config=own)
        capfd.readouterr()
        with tw.Session(server.target, config=config) as session:
            assert [d.device_type for d in session.list_devices()] == names
        said = capfd.readouterr().err
        assert ("gpu_options.allow_growth" in said) == (names == ["CPU"]), said
        server.stop()
    server = tw.train.Server.create_local_server()
    for count, warned in ((1, False), (0, True)):
        with tw.Session(server.target, config=config_of(count)) as session:
            assert [d.device_type for d in session.list_devices()] == ["CPU", "GPU"]
        assert ("device_count" in capfd.readouterr().err) == warned
    server.stop()


def test_it_is_told():
    assert tw.test.is_gpu_available() and tw.test.gpu_device_name() == GPU
    assert not tw.test.is_gpu_available(cuda_only=True) and not tw.test.is_gpu_available(min_cuda_compute_capability=(3, 5))
    assert [d.name for d in tw.config.experimental.list_physical_devices("GPU")] == ["/physical_device:GPU:0"]
