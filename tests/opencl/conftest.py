# SPDX-License-Identifier: Apache-2.0
"""Programs on /device:GPU:0 through OpenCL (thalweg/devices/gpu): ./dev opencl. Processors count as devices there."""
import os

os.environ["THALWEG_DEVICE_COUNT"] = "GPU=1"
