// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/program_plan.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

using Kind = EwInstruction::Kind;

// Where a value lies. `stored` holds its storage type, `wide` the type that loops compute in; the
// same place where both are one.
struct Where {
  int stored = -1;
  int wide = -1;
  bool scalar = false;
  int last_use = -1;  // the instruction, by its number in the part
};

class Planner {
 public:
  Planner(const EwProgram& program, const EwPart& part, const IsaTable& isa)
      : program_(program), part_(part), where_(static_cast<size_t>(program.num_values())) {
    plan_.isa = &isa;
    plan_.externals = static_cast<int>(part.externals.size());
    plan_.outputs = static_cast<int>(part.outputs.size());
    plan_.flag_instruction.push_back(-1);
  }

  EwPlan Make() {
    Prepare();
    for (size_t i = 0; i < part_.instructions.size(); ++i) Emit(static_cast<int>(i));
    plan_.tiles = tiles_;
    return std::move(plan_);
  }

 private:
  Where& At(int value) { return where_[static_cast<size_t>(value)]; }
  StorageType TypeOf(int value) const { return StorageTypeOf(program_.type(value)); }

  void Prepare() {
    for (int e = 0; e < plan_.externals; ++e) {
      const int value = part_.externals[static_cast<size_t>(e)];
      const StorageType type = TypeOf(value);
      Where& where = At(value);
      where.stored = e;
      where.wide = type.widen == nullptr ? e : -1;
      where.scalar = part_.scalar[static_cast<size_t>(e)];
      plan_.external_size.push_back(type.size);
      plan_.tile_element = std::max({plan_.tile_element, type.size, type.wide_size});
    }
    for (int o = 0; o < plan_.outputs; ++o) {
      const int value = part_.outputs[static_cast<size_t>(o)];
      At(value).stored = plan_.externals + o;
      plan_.output_size.push_back(TypeOf(value).size);
    }
    for (size_t i = 0; i < part_.instructions.size(); ++i) {
      const int id = part_.instructions[i];
      const EwInstruction& instruction = program_.instructions()[static_cast<size_t>(id)];
      for (int k = 0; k < instruction.num_operands(); ++k) {
        At(instruction.operands[static_cast<size_t>(k)]).last_use = static_cast<int>(i);
      }
      plan_.tile_element =
          std::max(plan_.tile_element, TypeOf(program_.num_inputs() + id).wide_size);
    }
  }

  int NewTile() {
    if (!free_.empty()) {
      const int place = free_.back();
      free_.pop_back();
      return place;
    }
    return plan_.externals + plan_.outputs + tiles_++;
  }
  void FreeTile(int place) {
    if (place >= plan_.externals + plan_.outputs) free_.push_back(place);
  }

  EwStep& Add(EwStep::Kind kind, int to, int a) {
    EwStep& step = plan_.steps.emplace_back();
    step.kind = kind;
    step.to = static_cast<uint16_t>(to);
    step.a = static_cast<uint16_t>(a);
    return step;
  }

  // The place that holds the operand as loops want it.
  int Wide(int value) {
    Where& where = At(value);
    if (where.wide < 0) {
      where.wide = NewTile();
      EwStep& step = Add(EwStep::Kind::kConvert, where.wide, where.stored);
      step.loop.convert = TypeOf(value).widen;
      step.one = where.scalar;
    }
    return where.wide;
  }

  void Emit(int i) {
    const int id = part_.instructions[static_cast<size_t>(i)];
    const EwInstruction& instruction = program_.instructions()[static_cast<size_t>(id)];
    const int value = program_.num_inputs() + id;
    const StorageType type = TypeOf(value);
    int operands[3] = {}, sizes[3] = {};
    bool tile[3] = {};
    for (int k = 0; k < instruction.num_operands(); ++k) {
      const int from = instruction.operands[static_cast<size_t>(k)];
      operands[k] = Wide(from);
      sizes[k] = TypeOf(from).wide_size;
      tile[k] = !At(from).scalar;
    }
    Where& where = At(value);
    const bool narrow = type.narrow != nullptr;
    // A loop may overwrite a tile operand of the same element size that nobody reads later; other
    // operands are given back after the result has its place.
    int to = narrow || where.stored < 0 ? -1 : where.stored;
    std::vector<int> dead;
    for (int k = 0; k < instruction.num_operands(); ++k) {
      const int from = instruction.operands[static_cast<size_t>(k)];
      if (At(from).last_use != i || IsRepeated(instruction, k)) continue;
      const bool own = operands[k] >= plan_.externals + plan_.outputs;
      if (to < 0 && own && tile[k] && sizes[k] == type.wide_size) {
        to = operands[k];
      } else {
        dead.push_back(operands[k]);
      }
    }
    if (to < 0) to = NewTile();
    AddLoop(instruction, id, to, operands, tile);
    for (int place : dead) FreeTile(place);
    where.wide = to;
    if (narrow) Round(value, type);
    if (where.last_use < 0 && where.wide != where.stored) FreeTile(where.wide);
  }

  static bool IsRepeated(const EwInstruction& instruction, int k) {
    for (int j = 0; j < k; ++j) {
      if (instruction.operands[static_cast<size_t>(j)] ==
          instruction.operands[static_cast<size_t>(k)]) {
        return true;
      }
    }
    return false;
  }

  // Through the storage type, to the output or a tile, and back where the value is read again.
  void Round(int value, const StorageType& type) {
    Where& where = At(value);
    const int stored = where.stored >= 0 ? where.stored : NewTile();
    Add(EwStep::Kind::kConvert, stored, where.wide).loop.convert = type.narrow;
    if (where.last_use >= 0) {
      Add(EwStep::Kind::kConvert, where.wide, stored).loop.convert = type.widen;
    }
    if (where.stored < 0) FreeTile(stored);
  }

  void AddLoop(const EwInstruction& instruction, int id, int to, const int* operands,
               const bool* tile) {
    const EwType type = TypeOf(instruction.operands[0]).compute;
    const EwKernels& kernels = *plan_.isa->ew[type];
    switch (instruction.kind) {
      case Kind::kUnary:
        Add(EwStep::Kind::kUnary, to, operands[0]).loop.unary = kernels.unary[instruction.op];
        return;
      case Kind::kBinary: {
        EwStep& step = Add(EwStep::Kind::kBinary, to, operands[0]);
        const BinaryFns& fns = kernels.binary[instruction.op];
        step.b = static_cast<uint16_t>(operands[1]);
        step.loop.binary = !tile[0] ? fns.sv : !tile[1] ? fns.vs : fns.vv;
        if (type != kEwFloat && type != kEwDouble && type != kEwBool) {
          step.flag = static_cast<uint8_t>(plan_.flag_instruction.size());
          plan_.flag_instruction.push_back(id);
        }
        return;
      }
      case Kind::kSelect: {
        EwStep& step = Add(EwStep::Kind::kSelect, to, operands[0]);
        step.b = static_cast<uint16_t>(operands[1]);
        step.c = static_cast<uint16_t>(operands[2]);
        for (int k = 0; k < 3; ++k) step.steps |= static_cast<uint8_t>(tile[k] << k);
        step.loop.size = TypeOf(instruction.operands[1]).wide_size;
        return;
      }
      case Kind::kCast: {
        const EwType result = StorageTypeOf(instruction.target).compute;
        if (type == result && to == operands[0]) return;  // widening or rounding does it
        Add(EwStep::Kind::kCast, to, operands[0]).loop.cast = CastOfTiles(type, result);
        return;
      }
    }
  }

  const EwProgram& program_;
  const EwPart& part_;
  EwPlan plan_;
  std::vector<Where> where_;  // by value
  std::vector<int> free_;     // tiles
  int tiles_ = 0;
};

}  // namespace

EwPlan MakeEwPlan(const EwProgram& program, const EwPart& part, const IsaTable& isa) {
  return Planner(program, part, isa).Make();
}

}  // namespace thalweg::compute
