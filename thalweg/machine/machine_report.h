// SPDX-License-Identifier: Apache-2.0
// MachineReportJson: what was examined and found, as JSON.
//
//   Examined examined{.machine = ReadMachineFacts()};
//   std::string json = MachineReportJson(examined, Examine(examined));
//
// Ownership: values.
// Threads: any.
// Errors: none.
#pragma once

#include <string>
#include <vector>

#include "thalweg/machine/findings.h"

namespace thalweg {

std::string MachineReportJson(const Examined& examined, const std::vector<Finding>& findings);

}  // namespace thalweg
