// SPDX-License-Identifier: Apache-2.0
// DeviceCountAskedFor: how many devices of types other than CPU the variable THALWEG_DEVICE_COUNT
// of the process asks for: "FAKE=1", or several with commas. By it unchanged programs and suites
// run on another device.
//
//   ASSIGN_OR_RETURN(options.device_count, DeviceCountAskedFor());
//
// Ownership: values.
// Threads: any, while nobody sets variables.
// Errors: InvalidArgument for a variable that is not read.
#pragma once

#include <map>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg {

Result<std::map<std::string, int>> DeviceCountAskedFor();

}  // namespace thalweg
