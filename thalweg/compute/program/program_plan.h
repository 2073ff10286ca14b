// SPDX-License-Identifier: Apache-2.0
// EwPlan: the instructions of a program (or of a part of it) as calls of loops on numbered places:
// externals, outputs, then tiles. Private to compute/ew.
// Ownership: a plan owns its steps; loops and tables are static.
// Threads: one makes it; then reading from any.
// Errors: none; the program was checked when it was made.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/program/program.h"

namespace thalweg::compute {

// What a plan is made for: these instructions, of which `externals` (inputs, or what other parts
// have made) are read and `outputs` are written to memory.
struct EwPart {
  std::vector<int> externals;
  std::vector<bool> scalar;  // by external: one element stands for the whole tile
  std::vector<int> instructions;
  std::vector<int> outputs;
};

struct EwStep {
  enum class Kind : uint8_t { kUnary, kBinary, kSelect, kCast, kConvert };
  union Loop {
    UnaryFn unary;
    BinaryFn binary;
    CastFn cast;
    void (*convert)(const HalfKernels& half, void* out, const void* in, int64_t n);
    int64_t size;  // of an element that is selected
  };
  Kind kind;
  bool one = false;   // of one element, whatever the tile
  uint8_t steps = 0;  // of a select: bit k is set where operand k is a tile
  uint8_t flag = 0;   // which of the plan's flags it may set
  uint16_t to, a, b = 0, c = 0;
  Loop loop;
};

struct EwPlan {
  uint64_t scalars = 0;  // the inputs that are, in a plan of the whole program
  const IsaTable* isa = nullptr;
  std::vector<EwStep> steps;
  int externals = 0;
  int outputs = 0;
  int tiles = 0;
  int tile_element = 0;            // bytes of the widest element
  std::vector<int> external_size;  // bytes of an element
  std::vector<int> output_size;
  std::vector<int> flag_instruction;  // whose error it is; flag 0 is nobody's
};

// At least one operand of every instruction must be a tile.
EwPlan MakeEwPlan(const EwProgram& program, const EwPart& part, const IsaTable& isa);

}  // namespace thalweg::compute
