// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/inline_work.h"
#include "thalweg/compute/program/reduced_split.h"
#include "thalweg/tensor/shape.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kBlock = 16384;        // elements of a block of rows
constexpr int64_t kMostColumns = 65536;  // of rows that go through a row program
constexpr int64_t kBlocksOfShard = 4;
constexpr int kMostOperands = EwProgram::kMostInputs + EwProgram::kMostInstructions;

int64_t Elements(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

std::span<const int64_t> Stripped(std::span<const int64_t> dims) {
  while (!dims.empty() && dims.front() == 1) dims = dims.subspan(1);
  return dims;
}

bool SameDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

char* At(void* base, int64_t elements, int size) {
  return static_cast<char*>(base) + elements * size;
}

int64_t Aligned(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

}  // namespace

// The first error of any shard.
struct ReducedRun::Trouble {
  std::atomic<bool> any{false};
  Status status;
  int instruction = -1;

  bool Note(const Status& now, const EwRun* run, const ReducedProgram::Step& step) {
    if (now.ok()) return true;
    if (any.exchange(true)) return false;
    status = now;
    const int failed = run == nullptr ? 0 : run->failed_instruction();
    if (failed >= 0) instruction = step.instructions[static_cast<size_t>(failed)];
    return false;
  }
};

ReducedRun::ReducedRun(const ReducedProgram& program, const IsaTable& isa,
                       std::span<const EwRun::Input> inputs)
    : program_(program), isa_(isa), inputs_(inputs) {}
ReducedRun::~ReducedRun() = default;

Status ReducedRun::InferShapes() {
  dims_.clear();
  for (const EwRun::Input& input : inputs_) dims_.emplace_back(input.dims);
  for (size_t i = 0; i < program_.instructions().size(); ++i) {
    const ReducedInstruction& instruction = program_.instructions()[i];
    const auto of = [&](int k) -> const Dims& {
      return dims_[static_cast<size_t>(instruction.operand_at(k))];
    };
    failed_ = static_cast<int>(i);
    if (instruction.reduces) {
      ASSIGN_OR_RETURN(const Reduction reduction, Reduction::Make(of(0), instruction.axes));
      dims_.push_back(reduction.OutputDims(instruction.keep_dims));
      continue;
    }
    const int operands = instruction.num_operands();
    if (operands == 1 || (operands == 2 && of(0) == of(1))) {
      dims_.push_back(Dims(of(0)));
      continue;
    }
    if (instruction.element.same_shape) {
      return InvalidArgument("both inputs must have one shape, got ", Shape(of(0)).ToString(),
                             " and ", Shape(of(1)).ToString());
    }
    ASSIGN_OR_RETURN(const Broadcast broadcast, operands == 2
                                                    ? Broadcast::Make({of(0), of(1)})
                                                    : Broadcast::Make({of(0), of(1), of(2)}));
    dims_.push_back(broadcast.output_dims());
  }
  failed_ = -1;
  return OkStatus();
}

const Dims& ReducedRun::output_dims(int output) const {
  return dims_[static_cast<size_t>(program_.outputs()[static_cast<size_t>(output)])];
}

Status ReducedRun::Execute(Work& work, std::span<void* const> outputs) {
  if (FindMatrix()) return ExecuteEnded(work, outputs);
  if (FindRows()) return ExecuteBlocks(work, outputs);
  return ExecuteWhole(work, outputs);
}

// In shape_, of which the first `kept` dimensions are rows.
ReducedRun::Kind ReducedRun::KindOf(std::span<const int64_t> dims, int kept) const {
  const std::span<const int64_t> shape(shape_);
  if (SameDims(dims, shape)) return Kind::kFull;
  if (Elements(dims) == 1) return Kind::kScalar;
  if (SameDims(Stripped(dims), Stripped(shape.subspan(static_cast<size_t>(kept))))) {
    return Kind::kRow;
  }
  bool column = dims.size() == shape.size();
  for (size_t d = 0; column && d < dims.size(); ++d) {
    column = dims[d] == (static_cast<int>(d) < kept ? shape[d] : 1);
  }
  return column ? Kind::kColumn : Kind::kOther;
}

bool ReducedRun::FindMatrix() {
  if (program_.only_reduction_ < 0 || program_.whole_->steps.size() != 2) return false;
  const auto& reduction = program_.instructions()[static_cast<size_t>(program_.only_reduction_)];
  if (reduction.operand < program_.num_inputs()) return false;
  shape_ = dims_[reduction.operand];
  const int64_t n = Elements(shape_);
  if (n == 0) return false;
  for (int v = program_.num_inputs(); v < program_.num_values(); ++v) {
    const bool made = v != program_.num_inputs() + program_.only_reduction_;
    if (made && !(dims_[static_cast<size_t>(v)] == shape_)) return false;
  }
  // The first split between rows and columns that all inputs agree with.
  for (int kept = 0; kept <= shape_.size(); ++kept) {
    kinds_.clear();
    for (const EwRun::Input& input : inputs_) kinds_.push_back(KindOf(input.dims, kept));
    if (std::find(kinds_.begin(), kinds_.end(), Kind::kOther) != kinds_.end()) continue;
    columns_ = Elements(std::span<const int64_t>(shape_).subspan(static_cast<size_t>(kept)));
    rows_ = n / columns_;
    return true;
  }
  return false;
}

// The elements of the one reduction, made by the instructions before it.
class ReducedRun::Source final : public ReduceSource {
 public:
  Source(const ReducedRun& run, std::span<void* const> outputs, Trouble* trouble)
      : run_(run),
        step_(run.program_.whole_->steps[0]),
        operand_(
            run.program_.instructions()[static_cast<size_t>(run.program_.only_reduction_)].operand),
        trouble_(trouble) {
    for (int value : step_.outputs) {
      void* base = nullptr;
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (run.program_.outputs()[o] == value) base = outputs[o];
      }
      bases_.push_back(base);
      sizes_.push_back(StorageTypeOf(run.program_.type(value)).size);
    }
  }

  const void* Make(Work& work, int64_t begin, int64_t end, void* buffer) const override {
    const void* made = buffer;
    void* at[EwProgram::kMostInstructions];
    for (size_t i = 0; i < bases_.size(); ++i) {
      at[i] = bases_[i] == nullptr ? buffer : At(bases_[i], begin, sizes_[i]);
      if (step_.outputs[i] == operand_) made = at[i];
    }
    const int64_t columns = run_.columns_;
    for (int64_t i = begin; i < end;) {
      const int64_t column = i % columns;
      const bool whole = column == 0 && end - i >= columns;
      const int64_t rows = whole ? (end - i) / columns : 1;
      const int64_t count = whole ? columns : std::min(columns - column, end - i);
      if (!Piece(work, i / columns, column, rows, count, at)) return nullptr;
      for (size_t o = 0; o < bases_.size(); ++o) at[o] = At(at[o], rows * count, sizes_[o]);
      i += rows * count;
    }
    return made;
  }

 private:
  // Columns [column, column + count) of some rows; of one row unless they are all.
  bool Piece(Work& work, int64_t row, int64_t column, int64_t rows, int64_t count,
             void* const* at) const {
    const int64_t full[] = {rows, count}, one_column[] = {rows, 1};
    EwRun::Input inputs[EwProgram::kMostInputs];
    for (size_t i = 0; i < step_.inputs.size(); ++i) {
      const auto v = static_cast<size_t>(step_.inputs[i]);
      const int size = StorageTypeOf(run_.program_.type(step_.inputs[i])).size;
      void* base = const_cast<void*>(run_.inputs_[v].data);
      switch (run_.kinds_[v]) {
        case Kind::kFull:
          inputs[i] = {At(base, row * run_.columns_ + column, size), full};
          break;
        case Kind::kColumn:
          inputs[i] = {At(base, row, size), one_column};
          break;
        case Kind::kRow:
          inputs[i] = {At(base, column, size), std::span(full).last(1)};
          break;
        default:
          inputs[i] = {base, {}};
      }
    }
    EwRun run(*step_.program, run_.isa_, {inputs, step_.inputs.size()});
    if (!trouble_->Note(run.InferShapes(), &run, step_)) return false;
    return trouble_->Note(run.Execute(work, {at, step_.outputs.size()}), &run, step_);
  }

  const ReducedRun& run_;
  const ReducedProgram::Step& step_;
  const int operand_;
  Trouble* trouble_;
  std::vector<void*> bases_;  // of what is kept; null: it goes to the buffer
  std::vector<int> sizes_;
};

Status ReducedRun::ExecuteEnded(Work& work, std::span<void* const> outputs) {
  const auto& reduction = program_.instructions()[static_cast<size_t>(program_.only_reduction_)];
  const int value = program_.num_inputs() + program_.only_reduction_;
  void* out = nullptr;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (program_.outputs()[o] == value) out = outputs[o];
  }
  if (out == nullptr) return ExecuteWhole(work, outputs);
  ASSIGN_OR_RETURN(const Reduction what, Reduction::Make(shape_, reduction.axes));
  Trouble trouble;
  const Source source(*this, outputs, &trouble);
  const Status status = ReduceFrom(work, reduction.op, program_.type(value), what, source, out);
  failed_ = trouble.instruction;
  return trouble.any ? trouble.status : status;
}

bool ReducedRun::FindRows() {
  int kept = -1;
  kinds_.assign(dims_.size(), Kind::kOther);
  for (size_t i = 0; i < program_.instructions().size(); ++i) {
    const ReducedInstruction& instruction = program_.instructions()[i];
    if (!instruction.reduces) continue;
    const Dims& dims = dims_[instruction.operand];
    std::vector<bool> reduced(static_cast<size_t>(dims.size()));
    for (int64_t axis : instruction.axes) {
      reduced[static_cast<size_t>(axis < 0 ? axis + dims.size() : axis)] = true;
    }
    const auto first = std::find(reduced.begin(), reduced.end(), true);
    if (std::find(first, reduced.end(), false) != reduced.end()) return false;
    const int now = static_cast<int>(first - reduced.begin());
    if (kept < 0) {
      kept = now;
      shape_ = dims;
    }
    if (now != kept || !(dims == shape_)) return false;
    kinds_[static_cast<size_t>(program_.num_inputs()) + i] = Kind::kColumn;
  }
  if (kept < 0) return false;
  columns_ = Elements(std::span<const int64_t>(shape_).subspan(static_cast<size_t>(kept)));
  rows_ = Elements(std::span<const int64_t>(shape_).first(static_cast<size_t>(kept)));
  if (columns_ < 2 || columns_ > kMostColumns || rows_ < 2) return false;
  for (size_t v = 0; v < dims_.size(); ++v) {
    const bool made = v >= inputs_.size();
    if (kinds_[v] == Kind::kColumn) {  // a reduction: only with its dimensions kept may it be read
      const auto& instruction = program_.instructions()[v - inputs_.size()];
      for (const ReducedInstruction& reader : program_.instructions()) {
        for (int k = 0; k < reader.num_operands() && !instruction.keep_dims; ++k) {
          if (reader.operand_at(k) == static_cast<int>(v)) return false;
        }
      }
      continue;
    }
    kinds_[v] = KindOf(dims_[v], kept);
    if (kinds_[v] == Kind::kOther) return false;
    if (made && kinds_[v] != Kind::kFull && kinds_[v] != Kind::kColumn) return false;
  }
  return true;
}

// `scratch` has room for what is not an output, in the order of values.
bool ReducedRun::RunBlock(Work& work, const ReducedProgram::Split& split, int64_t row, int64_t rows,
                          std::span<void* const> outputs, char* scratch, Trouble* trouble) const {
  const int64_t full[] = {rows, columns_}, column[] = {rows, 1}, axis[] = {1};
  EwRun::Input values[kMostOperands];
  for (size_t v = 0; v < dims_.size(); ++v) {
    const int size = StorageTypeOf(program_.type(static_cast<int>(v))).size;
    const Kind kind = kinds_[v];
    const int64_t before = kind == Kind::kFull ? row * columns_ : kind == Kind::kColumn ? row : 0;
    std::span<const int64_t> dims;
    if (kind == Kind::kFull) dims = full;
    if (kind == Kind::kColumn) dims = column;
    if (kind == Kind::kRow) dims = std::span(full).last(1);
    void* base = nullptr;
    if (v < inputs_.size()) base = const_cast<void*>(inputs_[v].data);
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (program_.outputs()[o] == static_cast<int>(v)) base = outputs[o];
    }
    if (base != nullptr) {
      values[v] = {At(base, before, size), dims};
      continue;
    }
    values[v] = {scratch, dims};
    scratch += Aligned(Elements(dims) * size);
  }
  for (const ReducedProgram::Step& step : split.steps) {
    if (step.program == nullptr) {
      const auto id = static_cast<size_t>(step.instructions[0]);
      const ReducedInstruction& instruction = program_.instructions()[id];
      const Result<Reduction> reduction = Reduction::Make(full, axis);
      const Status status = Reduce(work, instruction.op, program_.type(instruction.operand),
                                   *reduction, values[instruction.operand].data,
                                   const_cast<void*>(values[inputs_.size() + id].data));
      if (!trouble->Note(status, nullptr, step)) return false;
      continue;
    }
    EwRun::Input inputs[EwProgram::kMostInputs];
    void* made[EwProgram::kMostInstructions];
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      inputs[i] = values[static_cast<size_t>(step.inputs[i])];
    }
    for (size_t o = 0; o < step.outputs.size(); ++o) {
      made[o] = const_cast<void*>(values[static_cast<size_t>(step.outputs[o])].data);
    }
    EwRun run(*step.program, isa_, {inputs, step.inputs.size()});
    if (!trouble->Note(run.InferShapes(), &run, step)) return false;
    if (!trouble->Note(run.Execute(work, {made, step.outputs.size()}), &run, step)) return false;
  }
  return true;
}

Status ReducedRun::ExecuteBlocks(Work& work, std::span<void* const> outputs) {
  std::vector<bool> columns(dims_.size());
  for (size_t v = 0; v < dims_.size(); ++v) columns[v] = kinds_[v] == Kind::kColumn;
  const ReducedProgram::Split* split = program_.blocks_.load(std::memory_order_acquire);
  std::unique_ptr<ReducedProgram::Split> own;
  if (split == nullptr || split->rows != columns) {
    ASSIGN_OR_RETURN(own, program_.MakeSplit(columns));
    ReducedProgram::Split* expected = nullptr;
    split = own.get();
    if (program_.blocks_.compare_exchange_strong(expected, own.get())) (void)own.release();
  }
  const int64_t block = std::max<int64_t>(1, kBlock / columns_);
  int64_t bytes = 0;
  for (size_t v = inputs_.size(); v < dims_.size(); ++v) {
    const int64_t elements = block * (kinds_[v] == Kind::kFull ? columns_ : 1);
    bytes += Aligned(elements * StorageTypeOf(program_.type(static_cast<int>(v))).size);
  }
  const int64_t rows_of_shard = block * kBlocksOfShard;
  Trouble trouble;
  const Status status =
      ForShards(work, (rows_ + rows_of_shard - 1) / rows_of_shard, [&](int64_t shard) {
        InlineWork here(work);
        Scratch<char> scratch(work, bytes);
        if (!scratch) return false;
        const int64_t end = std::min((shard + 1) * rows_of_shard, rows_);
        for (int64_t row = shard * rows_of_shard; row < end; row += block) {
          if (!RunBlock(here, *split, row, std::min(block, end - row), outputs, scratch.get(),
                        &trouble)) {
            return false;
          }
        }
        return true;
      });
  failed_ = trouble.instruction;
  return trouble.any ? trouble.status : status;
}

Status ReducedRun::ExecuteWhole(Work& work, std::span<void* const> outputs) {
  std::vector<void*> data(dims_.size());
  for (size_t v = 0; v < inputs_.size(); ++v) data[v] = const_cast<void*>(inputs_[v].data);
  for (size_t o = 0; o < outputs.size(); ++o) {
    data[static_cast<size_t>(program_.outputs()[o])] = outputs[o];
  }
  std::deque<Scratch<char>> temporaries;
  const auto room = [&](int value) {
    const auto v = static_cast<size_t>(value);
    if (data[v] != nullptr) return true;
    Scratch<char>& memory = temporaries.emplace_back(
        work, Elements(dims_[v]) * StorageTypeOf(program_.type(value)).size);
    data[v] = memory.get();
    return static_cast<bool>(memory);
  };
  for (const ReducedProgram::Step& step : program_.whole_->steps) {
    Trouble trouble;
    if (step.program == nullptr) {
      const int id = step.instructions[0], value = program_.num_inputs() + id;
      const ReducedInstruction& instruction = program_.instructions()[static_cast<size_t>(id)];
      if (!room(value)) return OutOfScratch();
      ASSIGN_OR_RETURN(const Reduction reduction,
                       Reduction::Make(dims_[instruction.operand], instruction.axes));
      failed_ = id;
      RETURN_IF_ERROR(Reduce(work, instruction.op, program_.type(value), reduction,
                             data[instruction.operand], data[static_cast<size_t>(value)]));
      failed_ = -1;
      continue;
    }
    std::vector<EwRun::Input> inputs;
    std::vector<void*> made;
    for (int value : step.inputs) {
      const auto v = static_cast<size_t>(value);
      inputs.push_back({data[v], std::span<const int64_t>(dims_[v])});
    }
    for (int value : step.outputs) {
      if (!room(value)) return OutOfScratch();
      made.push_back(data[static_cast<size_t>(value)]);
    }
    EwRun run(*step.program, isa_, inputs);
    Status status = run.InferShapes();
    if (status.ok()) status = run.Execute(work, made);
    if (!trouble.Note(status, &run, step)) {
      failed_ = trouble.instruction;
      return status;
    }
  }
  return OkStatus();
}

}  // namespace thalweg::compute
