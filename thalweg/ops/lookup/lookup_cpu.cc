// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

#include "thalweg/compute/text/numbers.h"
#include "thalweg/kernel/charged_file.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/lookup/table_input.h"
#include "thalweg/tensor/dtype_words.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

// Inputs 1 and 2 are keys and values of the table's types. `gives`: whether the node has values.
Status CheckTypes(Context& ctx, const TableSpec& table, bool gives) {
  const DType key = ctx.input(1).dtype(), value = ctx.input(2).dtype();
  if (key == table.key_dtype && value == table.value_dtype) return OkStatus();
  const auto words = [&](DType of_keys, DType of_values) {
    return StrCat(ctx.input(0).dtype() == DType::kResource ? "resource, " : "string_ref, ",
                  DTypeWord(of_keys), ", ", DTypeWord(of_values), "->",
                  gives ? DTypeWord(of_values) : "");
  };
  return InvalidArgument("Signature mismatch, have: ", words(key, value),
                         " expected: ", words(table.key_dtype, table.value_dtype));
}

Status Find(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
  RETURN_IF_ERROR(CheckTypes(ctx, table->spec(), true));
  ASSIGN_OR_RETURN(Tensor found, table->Find(ctx.allocator(), ctx.input(1), ctx.input(2)));
  ctx.set_output(0, std::move(found));
  return OkStatus();
}

template <Status (LookupTable::*kChange)(Allocator&, const Tensor&, const Tensor&)>
Status Change(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
  RETURN_IF_ERROR(CheckTypes(ctx, table->spec(), false));
  return (table.get()->*kChange)(ctx.allocator(), ctx.input(1), ctx.input(2));
}

Status Initialize(Context& ctx) {
  const Shape keys = ctx.input(1).shape(), values = ctx.input(2).shape();
  if (keys.rank() != 1) return InvalidArgument("Keys must be a vector, but received shape", keys);
  if (values.rank() != 1) {
    return InvalidArgument("Values must be a vector, but received shape", values);
  }
  if (keys != values) {
    return InvalidArgument("Keys and values must have the same size ", keys.dim(0), " vs ",
                           values.dim(0));
  }
  return Change<&LookupTable::Initialize>(ctx);
}

Status Remove(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
  return table->Remove(ctx.allocator(), ctx.input(1));
}

Status Size(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
  ctx.set_output(0, Tensor::Scalar(table->size()));
  return OkStatus();
}

class ExportCpu : public Kernel {
 public:
  explicit ExportCpu(const KernelConstruction& c)
      : key_dtype_(c.output_type(0)), value_dtype_(c.output_type(1)) {}
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
    if (table->spec().key_dtype != key_dtype_ || table->spec().value_dtype != value_dtype_) {
      return InvalidArgument("the node says a table from ", key_dtype_, " to ", value_dtype_,
                             ", found ", table->DebugString());
    }
    ASSIGN_OR_RETURN(auto rows, table->Export(ctx.allocator()));
    ctx.set_output(0, std::move(rows.first));
    ctx.set_output(1, std::move(rows.second));
    return OkStatus();
  }

 private:
  const DType key_dtype_, value_dtype_;
};

// What a column of a table is made from: a column of the file, or one of these.
constexpr int64_t kLineNumber = -1, kWholeLine = -2;

class FromFileCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FromFileCpu>();
    ASSIGN_OR_RETURN(kernel->key_, c.Attr<int64_t>("key_index"));
    ASSIGN_OR_RETURN(kernel->value_, c.Attr<int64_t>("value_index"));
    ASSIGN_OR_RETURN(kernel->size_, c.Attr<int64_t>("vocab_size"));
    ASSIGN_OR_RETURN(kernel->offset_, c.Attr<int64_t>("offset"));
    ASSIGN_OR_RETURN(const std::string delimiter, c.Attr<std::string>("delimiter"));
    if (delimiter.size() != 1) {
      return InvalidArgument("delimiter should be only 1 char, got '", delimiter, "'");
    }
    if (kernel->key_ < kWholeLine || kernel->value_ < kWholeLine || kernel->offset_ < 0) {
      return InvalidArgument("key_index and value_index must be at least -2, offset at least 0");
    }
    kernel->delimiter_ = delimiter[0];
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<LookupTable> table, TableInput(ctx));
    const Tensor& name = ctx.input(1);
    if (name.rank() != 0) {
      return InvalidArgument("filename should be a single string, but got ", name.shape());
    }
    const TableSpec& spec = table->spec();
    RETURN_IF_ERROR(CheckColumn(key_, spec.key_dtype, "key"));
    RETURN_IF_ERROR(CheckColumn(value_, spec.value_dtype, "value"));
    if (table->initialized()) return OkStatus();
    HeapCharge charge;
    ASSIGN_OR_RETURN(std::string text,
                     ReadFile(ctx.allocator(), charge, name.scalar<std::string>()));
    std::erase(text, '\r');
    const auto ends = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    RETURN_IF_ERROR(
        charge.Set(ctx.allocator(), text.size() + (ends + 1) * sizeof(std::string_view)));
    ASSIGN_OR_RETURN(const std::vector<std::string_view> lines,
                     LinesOf(text, name.scalar<std::string>()));
    const auto count = static_cast<int64_t>(lines.size());
    ASSIGN_OR_RETURN(Tensor keys, ctx.AllocateTemporary(spec.key_dtype, Shape{count}));
    ASSIGN_OR_RETURN(Tensor values, ctx.AllocateTemporary(spec.value_dtype, Shape{count}));
    RETURN_IF_ERROR(ClaimTextHeap(ctx.allocator(), keys, text.size()));
    RETURN_IF_ERROR(ClaimTextHeap(ctx.allocator(), values, text.size()));
    for (int64_t i = 0; i < count; ++i) {
      const std::string_view line = lines[static_cast<size_t>(i)];
      for (auto [column, tensor] : {std::pair(key_, &keys), std::pair(value_, &values)}) {
        const Status status = SetElement(line, column, i, *tensor);
        if (!status.ok()) {
          return status.WithContext(StrCat(name.scalar<std::string>(), ", line ", i + 1 + offset_));
        }
      }
    }
    return table->Initialize(ctx.allocator(), keys, values);
  }

 private:
  static Status CheckColumn(int64_t column, DType dtype, std::string_view what) {
    if (column == kLineNumber && dtype != DType::kInt64) {
      return InvalidArgument("the line number as ", what, " requires type int64, got ", dtype);
    }
    if (column == kWholeLine && dtype != DType::kString && !IsInteger(dtype)) {
      return InvalidArgument("the whole line as ", what, " requires type integer or string, got ",
                             dtype);
    }
    return OkStatus();
  }

  // The lines behind the offset, as many as the vocabulary has; no empty ones.
  Result<std::vector<std::string_view>> LinesOf(std::string_view text,
                                                const std::string& file) const {
    std::vector<std::string_view> lines;
    for (int64_t number = 0; !text.empty(); ++number) {
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (number < offset_) continue;
      if (size_ >= 0 && static_cast<int64_t>(lines.size()) == size_) break;
      if (line.empty()) {
        return InvalidArgument("Invalid content: empty line found at position ", number + 1);
      }
      lines.push_back(line);
    }
    if (size_ >= 0 && static_cast<int64_t>(lines.size()) < size_) {
      return InvalidArgument("Invalid vocab_size in ", file, ": expected ", size_, " but got ",
                             lines.size());
    }
    return lines;
  }

  Result<std::string_view> ColumnOf(std::string_view line, int64_t column) const {
    for (int64_t i = 0; i < column; ++i) {
      const size_t end = line.find(delimiter_);
      if (end == std::string_view::npos) {
        return InvalidArgument("Invalid number of columns: expected column ", column, ", found ",
                               i + 1, " columns");
      }
      line.remove_prefix(end + 1);
    }
    return line.substr(0, line.find(delimiter_));
  }

  Status SetElement(std::string_view line, int64_t column, int64_t i, Tensor& tensor) const {
    if (column == kLineNumber) {
      tensor.mutable_data<int64_t>()[i] = i + offset_;
      return OkStatus();
    }
    std::string_view text = line;
    if (column != kWholeLine) {
      ASSIGN_OR_RETURN(text, ColumnOf(line, column));
    }
    if (tensor.dtype() == DType::kString) {
      tensor.mutable_data<std::string>()[i] = text;
      return OkStatus();
    }
    bool known = false, parsed = false;
    ForEachType<Types<float, double, int32_t, int64_t>>([&]<class T>() {
      if (kDTypeOf<T> != tensor.dtype()) return;
      known = true;
      parsed = compute::ParseNumber(text, tensor.mutable_data<T>() + i);
    });
    if (!known) return InvalidArgument("a file has no values of type ", tensor.dtype());
    if (parsed) return OkStatus();
    return InvalidArgument("Field ", text, " is not a valid ", tensor.dtype());
  }

  int64_t key_ = 0, value_ = 0, size_ = -1, offset_ = 0;
  char delimiter_ = '\t';
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(lookup, cpu) {
  for (const std::string suffix : {"", "V2"}) {
    registry.AddFunction<Find>("LookupTableFind" + suffix, kCpu);
    registry.AddFunction<Change<&LookupTable::Insert>>("LookupTableInsert" + suffix, kCpu);
    registry.AddFunction<Change<&LookupTable::Import>>("LookupTableImport" + suffix, kCpu);
    registry.AddFunction<Initialize>("InitializeTable" + suffix, kCpu);
    registry.AddFunction<Size>("LookupTableSize" + suffix, kCpu);
    registry.Add<ExportCpu>("LookupTableExport" + suffix, kCpu);
    registry.Add<FromFileCpu>("InitializeTableFromTextFile" + suffix, kCpu);
  }
  registry.AddFunction<Remove>("LookupTableRemoveV2", kCpu);
}
