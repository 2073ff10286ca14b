# SPDX-License-Identifier: Apache-2.0
"""The devices of this process, and which of them later sessions get that have no ConfigProto of their own.

A GPU is listed where one was asked for (THALWEG_DEVICE_COUNT=GPU=1) and can be used, as sessions have it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from thalweg.config.choices import choosing
from thalweg.graph.device_lib import list_local_devices
from thalweg.graph.graph import Graph
from thalweg.graph.session import Session
from thalweg.messages import ConfigProto

if TYPE_CHECKING:
    from collections.abc import Sequence


class PhysicalDevice(NamedTuple):
    """A device of this process, whether sessions get it or not."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that sessions have, by the name that programs use."""

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """One of the devices that a physical one is to be taken for.

    Parameters
    ----------
    memory_limit : int, optional
        In megabytes.

    Examples
    --------
    >>> tw.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)
    VirtualDeviceConfiguration(memory_limit=1024)
    """

    memory_limit: int | None = None


_visible = {}  # physical devices by type, where the program has chosen
_virtual = {}  # by physical device
_growth = {}  # by physical device


def _physical():
    """Messages by physical device."""
    found = list_local_devices(ConfigProto())
    counts = {}
    devices = {}
    for message in found:
        number = counts[message.device_type] = counts.get(message.device_type, -1) + 1
        devices[PhysicalDevice(f"/physical_device:{message.device_type}:{number}", message.device_type)] = message
    return devices


def _known(device, there=None):
    if device not in (_physical() if there is None else there):
        raise ValueError("Unrecognized device: %s" % (repr(device),))
    return device


def _of_type(devices, device_type):
    return [d for d in devices if device_type in (None, d.device_type)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this process, whether sessions get them or not.

    Parameters
    ----------
    device_type : str, optional
        "CPU" or "GPU"; all unless given.

    Returns
    -------
    list of PhysicalDevice
        Each with name and device_type. A GPU is there where THALWEG_DEVICE_COUNT asks for one.

    Examples
    --------
    >>> tw.config.experimental.list_physical_devices("CPU")
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    return _of_type(_physical(), device_type)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that a session without a ConfigProto of its own has.

    Parameters
    ----------
    device_type : str, optional
        "CPU" or "GPU"; all unless given.

    Returns
    -------
    list of LogicalDevice
        Each with name and device_type.

    Examples
    --------
    >>> tw.config.experimental.list_logical_devices("CPU")
    [LogicalDevice(name='/job:localhost/replica:0/task:0/device:CPU:0', device_type='CPU')]
    """
    with Session(graph=Graph()) as session:
        return _of_type([LogicalDevice(d.name, d.device_type) for d in session.list_devices()], device_type)


def list_devices() -> list[str]:
    """The names of the devices that a session without a ConfigProto of its own has.

    Returns
    -------
    list of str

    Examples
    --------
    >>> tw.config.experimental_list_devices()
    ['/job:localhost/replica:0/task:0/device:CPU:0']
    """
    return [device.name for device in list_logical_devices()]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The physical devices that later sessions get.

    Parameters
    ----------
    device_type : str, optional
        "CPU" or "GPU"; all unless given.

    Returns
    -------
    list of PhysicalDevice

    Examples
    --------
    >>> len(tw.config.experimental.get_visible_devices("CPU"))
    1
    """
    return [d for d in list_physical_devices(device_type) if d in _visible.get(d.device_type, [d])]


def set_visible_devices(devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None) -> None:
    """Which physical devices later sessions get.

    Parameters
    ----------
    devices : list of PhysicalDevice, or one
        Of `list_physical_devices`.
    device_type : str, optional
        What is said of devices of other types stays as it is; of all unless given.

    Raises
    ------
    ValueError
        For what is no device of that type, or no CPU.

    Examples
    --------
    >>> tw.config.experimental.set_visible_devices([], "GPU")  # no session gets one
    """
    devices = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    there = _physical()
    for device in devices:
        _known(device, _of_type(there, device_type))
    types = {d.device_type for d in there} | {"GPU"} if device_type is None else {device_type}
    if "CPU" in types and not any(d.device_type == "CPU" for d in devices):
        raise ValueError("a session needs its CPU: it cannot be hidden")
    _visible.update((kind, _of_type(devices, kind)) for kind in types)
    if "GPU" not in types:
        return
    gpus = _of_type(there, "GPU")
    with choosing() as config:
        if _visible["GPU"] == gpus:  # as without a word
            if config.HasField("gpu_options"):
                config.gpu_options.ClearField("visible_device_list")
            config.device_count.pop("GPU", None)
            return
        config.device_count["GPU"] = len(_visible["GPU"])
        config.gpu_options.visible_device_list = ",".join(str(gpus.index(d)) for d in _visible["GPU"])


def get_memory_growth(device: PhysicalDevice) -> bool:
    """What `set_memory_growth` has said of a GPU.

    Parameters
    ----------
    device : PhysicalDevice

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For what is no GPU of this process.

    Examples
    --------
    >>> [tw.config.experimental.get_memory_growth(gpu) for gpu in tw.config.experimental.list_physical_devices("GPU")]
    []
    """
    if _known(device).device_type != "GPU":
        raise ValueError("memory growth is a matter of GPUs, got %s" % (device,))
    return _growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Memory of a GPU is taken as it is needed, which here is always so: this is only kept for `get_memory_growth`.

    Parameters
    ----------
    device : PhysicalDevice
    enable : bool

    Raises
    ------
    ValueError
        For what is no GPU of this process.

    Examples
    --------
    >>> for gpu in tw.config.experimental.list_physical_devices("GPU"):
    ...     tw.config.experimental.set_memory_growth(gpu, True)
    """
    if _known(device).device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    _growth[device] = bool(enable)


def get_virtual_device_configuration(device: PhysicalDevice) -> list[VirtualDeviceConfiguration] | None:
    """What a physical device is to be taken for.

    Parameters
    ----------
    device : PhysicalDevice

    Returns
    -------
    list of VirtualDeviceConfiguration, or None
        None where nothing was said of it.

    Raises
    ------
    ValueError
        For what is no device of this process.

    Examples
    --------
    >>> print(tw.config.experimental.get_virtual_device_configuration(tw.config.experimental.list_physical_devices()[0]))
    None
    """
    return _virtual.get(_known(device))


def set_virtual_device_configuration(device: PhysicalDevice, virtual_devices: Sequence[VirtualDeviceConfiguration]) -> None:
    """Later sessions take the CPU for several, or a GPU for one with less memory.

    Parameters
    ----------
    device : PhysicalDevice
    virtual_devices : list of VirtualDeviceConfiguration
        For the CPU without memory limits; one for a GPU. The least limit is that of every GPU.

    Raises
    ------
    ValueError
        For what is no device of this process, a memory limit of a CPU, or one that is not above 0.
    NotImplementedError
        For several devices of one GPU.

    Examples
    --------
    >>> cpu = tw.config.experimental.list_physical_devices("CPU")[0]
    >>> tw.config.experimental.set_virtual_device_configuration(cpu, [tw.config.experimental.VirtualDeviceConfiguration()])
    """
    virtual, there = list(virtual_devices), _physical()
    _known(device, there)
    limits = [v.memory_limit for v in virtual if v.memory_limit is not None]
    if device.device_type == "CPU":
        if limits:
            raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
        with choosing() as config:
            config.device_count.pop("CPU", None)
            if len(virtual) > 1:
                config.device_count["CPU"] = len(virtual)
    elif len(virtual) > 1:
        raise NotImplementedError(f"{device.name} cannot be taken for {len(virtual)} devices: only the CPU can")
    elif limits and limits[0] <= 0:
        raise ValueError(f"a memory limit of {device.name} must be above 0 megabytes, got {limits[0]}")
    else:
        told = {**_virtual, device: virtual}
        shares = [v.memory_limit * 2**20 / there[d].memory_limit for d in _of_type(told, "GPU") for v in told[d] if v.memory_limit is not None]
        with choosing() as config:
            if shares:
                config.gpu_options.per_process_gpu_memory_fraction = min(1.0, *shares)
            elif config.HasField("gpu_options"):
                config.gpu_options.ClearField("per_process_gpu_memory_fraction")
    _virtual[device] = virtual
