// SPDX-License-Identifier: Apache-2.0
// RunLeaf: a short loop of an ordinary file, compiled a second time for AVX2, chosen by the level
// of the Work. For loops that only want wider vectors; bits are the same. What needs more (fused
// multiply-adds, own code per level) is a *_isa.cc file.
//
//   namespace {                                  // so that no other file's copy is ever taken
//   struct AddInto {
//     [[gnu::always_inline]] static void Run(const float* from, int64_t n, float* to) { ... }
//   };
//   }
//   RunLeaf<AddInto>(work.isa(), from, n, to);
//
// Ownership: what the arguments point at is the caller's.
// Threads: any; the caller's alone.
// Errors: none.
#pragma once

#include "thalweg/compute/isa/isa.h"

namespace thalweg::compute {

template <class Leaf, class... Args>
[[gnu::target("avx2")]] void RunLeafAvx2(Args... args) {
  Leaf::Run(args...);
}

template <class Leaf, class... Args>
void RunLeaf(const IsaTable& isa, Args... args) {
  if (isa.level >= IsaLevel::kAvx2) {
    RunLeafAvx2<Leaf>(args...);
  } else {
    Leaf::Run(args...);
  }
}

}  // namespace thalweg::compute
