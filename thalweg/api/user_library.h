// SPDX-License-Identifier: Apache-2.0
// LoadUserLibrary: operations and kernels from a user's shared object (kernel_api.h).
// The object stays loaded as long as the process: kernels of it may outlive any session.
// Ownership: the object stays loaded; the environment's registries keep what it registers.
// Threads: any, while steps run.
// Errors: NotFound when it cannot be opened (with the loader's words), InvalidArgument when it
// exports no tw_register, else what it registered wrongly.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/session/environment.h"

namespace thalweg::api {

Status LoadUserLibrary(Environment& environment, const std::string& path);

}  // namespace thalweg::api
