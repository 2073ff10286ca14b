// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "thalweg/compute/text/numbers.h"
#include "thalweg/io/csv_fields.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/ops/parsing/parse_words.h"

namespace thalweg {
namespace {

std::string_view CsvTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "float";
    case DType::kDouble:
      return "double";
    default:
      return DTypeName(dtype);
  }
}

struct CsvOptions {
  CsvForm form;
  std::string na_value;
  std::vector<int64_t> columns;  // of each output; empty: all

  static Result<CsvOptions> Of(const KernelConstruction& c) {
    CsvOptions options;
    ASSIGN_OR_RETURN(const std::string delimiter, c.Attr<std::string>("field_delim"));
    if (delimiter.size() != 1) {
      return InvalidArgument("field_delim should be only 1 char, got '", delimiter, "'");
    }
    options.form.delimiter = delimiter[0];
    ASSIGN_OR_RETURN(options.form.has_quotes, c.Attr<bool>("use_quote_delim"));
    ASSIGN_OR_RETURN(options.na_value, c.Attr<std::string>("na_value"));
    ASSIGN_OR_RETURN(options.columns, c.Attr<std::vector<int64_t>>("select_cols"));
    const auto& columns = options.columns;
    const auto outputs = static_cast<size_t>(c.node().num_outputs());
    if (!columns.empty() && columns.size() != outputs) {
      return InvalidArgument("select_cols should match output size: it has ", columns.size(),
                             " elements for ", outputs, " outputs");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) {
        return InvalidArgument("select_cols should be non-negative indices, got ", columns[i]);
      }
      if (i > 0 && columns[i] <= columns[i - 1]) {
        return InvalidArgument("select_cols should be strictly increasing indices, got ",
                               columns[i], " after ", columns[i - 1]);
      }
    }
    return options;
  }
};

// One call: shards take records.
class CsvTable {
 public:
  CsvTable(Context& ctx, const CsvOptions& options)
      : ctx_(ctx), options_(options), records_(ctx.input(0).flat<std::string>()) {}

  Status Read() {
    for (int i = 0; i < ctx_.num_outputs(); ++i) {
      const Tensor& value = ctx_.input(1 + i);
      if (value.rank() > 1 || value.num_elements() > 1) {
        return InvalidArgument("There should only be 1 default per field but field ", i,
                               " has shape ", value.shape());
      }
      ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(i, value.dtype(), ctx_.input(0).shape()));
      outs_.push_back(out);
      meters_.emplace_back(ctx_.allocator(), *out);
    }
    constexpr int64_t kRecordsOfAShard = 128;
    RETURN_IF_ERROR(compute::ForBlocks(ctx_.work(), static_cast<int64_t>(records_.size()),
                                       kRecordsOfAShard, [this](int64_t begin, int64_t end) {
                                         for (int64_t r = begin; r < end; ++r) {
                                           Status status = ReadRecord(r);
                                           if (status.ok()) continue;
                                           error_.Set(r, std::move(status));
                                           return;
                                         }
                                       }));
    return error_.status();
  }

 private:
  Status ReadRecord(int64_t r) {
    CsvFields fields(records_[static_cast<size_t>(r)], options_.form);
    const auto& columns = options_.columns;
    const size_t wanted = outs_.size();
    std::string_view field;
    size_t found = 0;
    for (int64_t column = 0; fields.Next(&field); ++column) {
      if (columns.empty()) {
        if (found < wanted) RETURN_IF_ERROR(ReadField(r, found, field));
        ++found;
      } else if (column == columns[found]) {
        RETURN_IF_ERROR(ReadField(r, found, field));
        if (++found == wanted) return OkStatus();
      }
    }
    RETURN_IF_ERROR(fields.status().WithContext(StrCat("record ", r)));
    if (found == wanted) return OkStatus();
    return InvalidArgument("Expect ", wanted, " fields but have ", found, " in record ", r);
  }

  Status ReadField(int64_t r, size_t f, std::string_view field) {
    const bool absent = field.empty() || field == options_.na_value;
    const Tensor& value = ctx_.input(1 + static_cast<int>(f));
    if (absent && value.num_elements() == 0) {
      return InvalidArgument("Field ", f, " is required but missing in record ", r, "!");
    }
    switch (value.dtype()) {
      case DType::kFloat:
        return ReadNumber<float>(r, f, field, absent);
      case DType::kDouble:
        return ReadNumber<double>(r, f, field, absent);
      case DType::kInt32:
        return ReadNumber<int32_t>(r, f, field, absent);
      case DType::kInt64:
        return ReadNumber<int64_t>(r, f, field, absent);
      default:
        break;
    }
    if (absent) field = value.scalar<std::string>();
    if (!meters_[f].Take(field.size())) return meters_[f].status();
    outs_[f]->mutable_data<std::string>()[r] = field;
    return OkStatus();
  }

  template <class T>
  Status ReadNumber(int64_t r, size_t f, std::string_view field, bool absent) {
    T* const to = outs_[f]->mutable_data<T>() + r;
    if (absent) {
      *to = ctx_.input(1 + static_cast<int>(f)).scalar<T>();
      return OkStatus();
    }
    if (compute::ParseNumber(field, to)) return OkStatus();
    return InvalidArgument("Field ", f, " in record ", r, " is not a valid ",
                           CsvTypeName(kDTypeOf<T>), ": ", field.substr(0, 64));
  }

  Context& ctx_;
  const CsvOptions& options_;
  const std::span<const std::string> records_;
  std::vector<Tensor*> outs_;
  std::deque<TextMeter> meters_;
  FirstWrongExample error_;
};

class DecodeCsvCpu : public Kernel {
 public:
  explicit DecodeCsvCpu(CsvOptions options) : options_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(CsvOptions options, CsvOptions::Of(c));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCsvCpu>(std::move(options)));
  }
  Status Compute(Context& ctx) override { return CsvTable(ctx, options_).Read(); }

 private:
  const CsvOptions options_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(decode_csv, cpu) {
  registry.Add<DecodeCsvCpu>("DecodeCSV", kCpu).Cost(KernelCost::kExpensive);
}
