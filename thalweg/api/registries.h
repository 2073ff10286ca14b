// SPDX-License-Identifier: Apache-2.0
// MakeRegistries: everything this build of the library can do: all operations, CPU kernels, the
// devices.
//
//   options.device_count = *DeviceCountAskedFor();
//   auto environment = Environment::Create(options, MakeRegistries());
//
// Ownership: the caller's; an environment shares them.
// Threads: any.
// Errors: none of MakeRegistries: a registry that was filled twice says so when it is asked;
// DeviceCountAskedFor: InvalidArgument for a variable that is not read.
#pragma once

#include <map>
#include <string>

#include "thalweg/session/environment.h"

namespace thalweg {

Registries MakeRegistries();

// How many devices of types other than CPU the variable THALWEG_DEVICE_COUNT of the process asks
// for: "FAKE=1", or several with commas. Tests run on another device by it.
Result<std::map<std::string, int>> DeviceCountAskedFor();

// Where devices of the process keep what they have compiled: $XDG_CACHE_HOME/thalweg, else
// ~/.cache/thalweg; empty, and nothing is kept, where neither is an absolute path.
std::string DeviceCacheDirectory();

}  // namespace thalweg
