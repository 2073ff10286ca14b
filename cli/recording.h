// SPDX-License-Identifier: Apache-2.0
// A step of a model as arrays, as `run --record` writes and `verify` reads them: in.NAME, out.NAME.
//
//   const NamedArrays step = RecordStep(model, model.Signature("").value(), feeds);
//
// Ownership: arrays are the caller's.
// Threads: one.
// Errors: throws tw::Error and WorkError for what the library refuses.
#pragma once

#include <string>
#include <vector>

#include "npy.h"
#include "thalweg/model.h"

namespace cli {

// Only what the fetches need runs.
NamedArrays RunFetches(const tw::Model& model, const tw::ModelSignature& signature,
                       const NamedArrays& feeds, const std::vector<std::string>& fetches);
// The tensors of a step that can be recorded, in an order in which they can be computed.
std::vector<std::string> Recordable(const tw::Model& model, const tw::ModelSignature& signature);
// Feeds, and every tensor of the step that can be recorded.
NamedArrays RecordStep(const tw::Model& model, const tw::ModelSignature& signature,
                       const NamedArrays& feeds);

}  // namespace cli
