// SPDX-License-Identifier: Apache-2.0
// What RunOptions.debug_options ask for: CheckNumerics of all tensors, as a DebugTensorWatch of
// node "*" says it. Other watches have no effect.
//
//   options.check_numerics = AsksForNumericsCheck(run_options_message);
//
// Ownership: the messages are the caller's.
// Threads: any, as for the message.
// Errors: none.
#pragma once

#include "thalweg/proto/message.h"

namespace thalweg {

// Of a RunOptions message.
bool AsksForNumericsCheck(const Message& run_options);
void AskForNumericsCheck(Message* run_options);

}  // namespace thalweg
