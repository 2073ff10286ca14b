// SPDX-License-Identifier: Apache-2.0
// FindZlib: zlib, if its component is beside the library. Private to io/.
//
//   ASSIGN_OR_RETURN(const ThalwegZlibApi* api, FindZlib());
//
// Ownership: the table is the component's, which is never closed.
// Threads: any; whoever asks first decides for the whole process.
// Errors: Unimplemented without libthalweg_zlib.so.
#pragma once

#include "thalweg/base/status.h"
#include "thalweg/io/zlib_api.h"

namespace thalweg {

Result<const ThalwegZlibApi*> FindZlib();

}  // namespace thalweg
