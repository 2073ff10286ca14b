# SPDX-License-Identifier: Apache-2.0
"""tw.config.experimental: the devices there are, and which of them sessions get."""
from thalweg.base import names

names.complete(globals(), {
    "config.choices": "get_device_policy get_synchronous_execution set_device_policy set_synchronous_execution",
    "config.devices": "VirtualDeviceConfiguration get_memory_growth get_virtual_device_configuration get_visible_devices "
                      "list_logical_devices list_physical_devices set_memory_growth set_virtual_device_configuration "
                      "set_visible_devices"})
