// SPDX-License-Identifier: Apache-2.0
// MakeRegistries: everything this build of the library can do: all operations, CPU kernels, CPU
// devices.
#pragma once

#include "thalweg/session/environment.h"

namespace thalweg {

Registries MakeRegistries();

}  // namespace thalweg
