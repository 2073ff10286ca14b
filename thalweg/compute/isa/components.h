// SPDX-License-Identifier: Apache-2.0
// The strict tables: the same kernels as GetIsaTable's, for environments that use no component
// (conv/dnnl_api.h) but the library's own code alone. Their bits are equal at kAvx2 and kAvx512
// in convolutions too.
//
//   const IsaTable& isa = GetStrictIsaTable(BestIsaLevel());      // MayUseComponents(isa) is false
//
// Ownership: tables are static.
// Threads: any; no state.
// Errors: none; a level that the CPU lacks gives the best below it.
#pragma once

#include "thalweg/compute/isa/isa.h"

namespace thalweg::compute {

// As GetIsaTable.
const IsaTable& GetStrictIsaTable(IsaLevel level);

// False for strict tables, and for levels below the CPU's best: a component has one level for the
// whole process, and bits must not depend on who came first.
bool MayUseComponents(const IsaTable& isa);

// What the CPU can run, also where the build is capped below it.
IsaLevel HardwareIsaLevel();

}  // namespace thalweg::compute
