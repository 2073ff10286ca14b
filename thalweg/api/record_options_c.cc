// SPDX-License-Identifier: Apache-2.0
// The defaults of a recording, the same in libraries with clusters and without.
#include "thalweg/api/c_trace.h"

void tw_record_options_init(TwRecordOptions* options) {
  if (options == nullptr) return;
  *options = TwRecordOptions{};
  options->struct_size = sizeof(TwRecordOptions);
  options->slower_than_us = -1;
}
