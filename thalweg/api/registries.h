// SPDX-License-Identifier: Apache-2.0
// MakeRegistries: everything this build of the library can do: all operations, CPU kernels, the
// devices.
//
//   auto environment = Environment::Create(options, MakeRegistries());
//
// Ownership: the caller's; an environment shares them.
// Threads: any.
// Errors: none: a registry that was filled twice says so when it is asked.
#pragma once

#include "thalweg/session/environment.h"

namespace thalweg {

Registries MakeRegistries();

}  // namespace thalweg
