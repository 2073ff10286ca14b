// SPDX-License-Identifier: Apache-2.0
// Findings: what on a machine makes steps slow, or will stop a program, each with one remedy.
//
//   Examined examined{.machine = ReadMachineFacts()};
//   for (const Finding& finding : Examine(examined)) Use(finding.remedy);
//
// Ownership: values.
// Threads: any.
// Errors: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/compute/isa/components.h"
#include "thalweg/machine/machine_facts.h"
#include "thalweg/machine/roof.h"

namespace thalweg {

struct ExaminedDevice {
  std::string name, type;  // "/device:GPU:0", "GPU"
};

// What is known before anything is found.
struct Examined {
  MachineFacts machine;
  std::optional<Roof> roof;  // none: not measured
  std::string no_roof;       // why it could not be; "": it could, or nobody asked
  std::string no_devices;    // why those that were asked for are not there; "": they are
  compute::IsaLevel level = compute::BestIsaLevel(), hardware = compute::HardwareIsaLevel();
  std::vector<ExaminedDevice> devices;          // of the environment
  std::vector<std::string> missing_components;  // libraries that belong beside this one
};

enum class FindingKind : uint8_t {
  kWrong,  // something will fail
  kSlow,   // steps take longer than they need to
  kNote    // good to know
};

struct Finding {
  FindingKind kind;
  std::string what, remedy;
};

// Worst kinds first.
std::vector<Finding> Examine(const Examined& examined);

const char* FindingKindName(FindingKind kind);  // "wrong"

}  // namespace thalweg
