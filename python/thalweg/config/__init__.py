# SPDX-License-Identifier: Apache-2.0
"""tw.config: what sessions without a ConfigProto of their own run with, and the devices there are."""
from thalweg.base import names

names.complete(globals(), {
    "config.choices": "get_soft_device_placement set_soft_device_placement",
    "config.devices": "experimental_list_devices=list_devices get_visible_devices list_logical_devices list_physical_devices "
                      "set_visible_devices"})
