// SPDX-License-Identifier: Apache-2.0
// RunLeaf: a short loop of an ordinary file, compiled a second time for AVX2 (RunWideLeaf: and for
// AVX-512), chosen by the level of the Work. For loops that only want wider vectors; bits are the
// same. What needs more (fused multiply-adds, own code per level) is a *_isa.cc file.
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

// clang does not know the last word and compiles for what the file is for: the same bits.
template <class Leaf, class... Args>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void RunLeafAvx512(
    const Args&... args) {
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

// The same, compiled a third time for AVX-512: where a loop has much to compute for what it reads.
template <class Leaf, class... Args>
void RunWideLeaf(const IsaTable& isa, const Args&... args) {
  if (isa.level >= IsaLevel::kAvx512) {
    RunLeafAvx512<Leaf>(args...);
  } else {
    RunLeaf<Leaf, const Args&...>(isa, args...);
  }
}

}  // namespace thalweg::compute
