// SPDX-License-Identifier: Apache-2.0
// FloatingPointScope: the floating-point state that kernels run in, for as long as the object
// lives.
//
// Rounds to nearest and treats denormal inputs and results as zero, which is what TensorFlow's
// kernels do; the destructor puts back what the thread had, so that an embedding program sees no
// change. Costs two register writes, and none where the state is right already.
// Ownership: lives on the stack of the thread whose state it changes.
// Threads: one: made and destroyed on the same, the inner one first.
// Errors: none.
#pragma once

#include <cstdint>

namespace thalweg {

class FloatingPointScope {
 public:
  // kKept: denormals are numbers like others, for decompositions whose input may consist of them.
  enum class Denormals { kZero, kKept };
  FloatingPointScope() : FloatingPointScope(Denormals::kZero) {}
  explicit FloatingPointScope(Denormals denormals) : saved_(Read()) {
    const uint64_t kept = denormals == Denormals::kKept ? FlushBits() : 0;
    const uint64_t wanted = Wanted(saved_) & ~kept;
    changed_ = wanted != saved_;
    if (changed_) Write(wanted);
  }
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;
  ~FloatingPointScope() {
    if (changed_) Write(saved_);
  }

 private:
#if defined(__x86_64__)
  static uint64_t Read() { return __builtin_ia32_stmxcsr(); }
  static void Write(uint64_t state) { __builtin_ia32_ldmxcsr(static_cast<uint32_t>(state)); }
  // Rounding control is bits 13-14 (0 = nearest), flush-to-zero bit 15, denormals-are-zero bit 6.
  static uint64_t Wanted(uint64_t state) { return (state & ~uint64_t{0x6000}) | FlushBits(); }
  static uint64_t FlushBits() { return 0x8040; }
#elif defined(__aarch64__)
  static uint64_t Read() {
    uint64_t state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void Write(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
  // Rounding mode is bits 22-23 (0 = nearest), flush-to-zero bit 24.
  static uint64_t Wanted(uint64_t state) { return (state & ~uint64_t{0xc00000}) | FlushBits(); }
  static uint64_t FlushBits() { return 0x1000000; }
#else
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
  static uint64_t Wanted(uint64_t state) { return state; }
  static uint64_t FlushBits() { return 0; }
#endif

  uint64_t saved_;
  bool changed_;
};

}  // namespace thalweg
