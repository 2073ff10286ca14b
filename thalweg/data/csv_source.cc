// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/csv_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "thalweg/compute/text/numbers.h"
#include "thalweg/data/csv_file_fields.h"
#include "thalweg/data/state.h"

namespace thalweg {
namespace {

// As messages have it.
std::string WordFor(DType dtype) {
  if (dtype == DType::kFloat) return "float";
  return dtype == DType::kDouble ? "double" : StrCat(dtype);
}

class Csv : public Dataset {
 public:
  Csv(FilesOptions files, CsvOptions options, ElementSpec spec)
      : Dataset(std::move(spec)), files_(std::move(files)), options_(std::move(options)) {}
  std::string Kind() const override { return "CSV"; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<CsvStage>(*this, shared_from_this()));
  }

 private:
  class CsvStage : public Stage {
   public:
    CsvStage(const Csv& csv, DatasetPtr owner) : csv_(csv), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (at_ < csv_.files_.files.size()) {
        RETURN_IF_ERROR(poller.Look());
        Status problem;
        const Result<bool> found = InFile(poller, out, &problem);
        if (found.ok() && *found) {
          RETURN_IF_ERROR(problem);
          return Poll::kElement;
        }
        ++at_;
        fields_.reset();
        RETURN_IF_ERROR(found.status());
      }
      return Poll::kEnd;
    }

    Result<Poll> Save(const Poller&, StateWriter& writer) override {
      writer.Add(static_cast<int64_t>(at_));
      writer.Add(fields_.has_value() ? static_cast<int64_t>(fields_->offset()) : -1);
      return Poll::kElement;
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t at = 0, offset = 0;
      RETURN_IF_ERROR(reader.Read(&at));
      RETURN_IF_ERROR(reader.Read(&offset));
      const auto files = static_cast<int64_t>(csv_.files_.files.size());
      if (at < 0 || at > files) {
        return InvalidArgument("the state of the iterator is of ", at, " files, there are ", files);
      }
      at_ = static_cast<size_t>(at);
      if (offset < 0 || at == files) return OkStatus();
      RETURN_IF_ERROR(Open());
      return fields_->Seek(static_cast<uint64_t>(offset), [&] { return poller.Look(); });
    }

   private:
    Status Open() {
      PosixFileSystem fs;
      ASSIGN_OR_RETURN(BlockFile file,
                       BlockFile::Open(fs, csv_.files_.files[at_], csv_.files_.reading));
      fields_.emplace(std::move(file), csv_.options_.delimiter, csv_.options_.quotes);
      return OkStatus();
    }
    // Whether there is a record, with its problem, if it has one.
    Result<bool> InFile(const Poller& poller, Element* out, Status* problem) {
      if (!fields_.has_value()) {
        RETURN_IF_ERROR(Open());
        if (csv_.options_.header) {
          RETURN_IF_ERROR(Header(poller, problem));
          if (!problem->ok()) return true;
        }
      }
      ASSIGN_OR_RETURN(const bool ended, fields_->AtEnd());
      if (ended) return false;
      const uint64_t at = fields_->offset();
      RETURN_IF_ERROR(Record(poller, out, problem));
      if (!problem->ok()) {
        *problem = Status(problem->code(), StrCat(problem->message(), " (the record at byte ", at,
                                                  " of ", csv_.files_.files[at_], ")"));
      }
      return true;
    }
    Status Header(const Poller& poller, Status* problem) {
      Status wrong;
      ASSIGN_OR_RETURN(const bool ended, fields_->AtEnd());
      for (bool last = ended; !last;) {
        RETURN_IF_ERROR(poller.Look());
        ASSIGN_OR_RETURN(last, fields_->Next(FileRoom(poller), nullptr, &wrong));
      }
      if (ended || !wrong.ok()) {
        *problem = InvalidArgument("Can't read header of file ", csv_.files_.files[at_]);
      }
      return OkStatus();
    }
    Status Record(const Poller& poller, Element* out, Status* problem) {
      const size_t wanted = csv_.options_.defaults.size();
      out->resize(wanted);
      size_t found = 0;
      bool last = false;
      for (int64_t column = 0; !last; ++column) {
        const bool counts = Counts(found, column);
        ASSIGN_OR_RETURN(last, fields_->Next(FileRoom(poller), counts ? &text_ : nullptr, problem));
        if (!counts) continue;
        if (found < wanted && problem->ok()) {
          *problem = Convert(poller.allocator(), found, &(*out)[found]);
        }
        ++found;
      }
      if (!problem->ok() || found == wanted) return OkStatus();
      *problem = found > wanted
                     ? InvalidArgument("Expect ", wanted, " fields but have more in record")
                     : InvalidArgument("Expect ", wanted, " fields but have ", found, " in record");
      return OkStatus();
    }

    // Whether a field does, of which `found` before it do.
    bool Counts(size_t found, int64_t column) const {
      const std::vector<int64_t>& columns = csv_.options_.columns;
      if (columns.empty()) return true;
      if (csv_.options_.excludes)
        return !std::binary_search(columns.begin(), columns.end(), column);
      return found < columns.size() && columns[found] == column;
    }

    // text_ as component i.
    Status Convert(Allocator& allocator, size_t i, Tensor* out) const {
      if (text_.empty() || text_ == csv_.options_.missing) {
        const Tensor& otherwise = csv_.options_.defaults[i];
        if (otherwise.num_elements() == 0) {
          return InvalidArgument("Field ", i, " is required but missing in record!");
        }
        ASSIGN_OR_RETURN(*out, otherwise.Reshaped(Shape()));
        return OkStatus();
      }
      const DType dtype = csv_.spec().types[i];
      ASSIGN_OR_RETURN(*out, Tensor::Allocate(allocator, dtype, Shape()));
      bool good = true;
      switch (dtype) {
        case DType::kFloat:
          good = compute::ParseNumber(text_, out->mutable_data<float>());
          break;
        case DType::kDouble:
          good = compute::ParseNumber(text_, out->mutable_data<double>());
          break;
        case DType::kInt32:
          good = compute::ParseNumber(text_, out->mutable_data<int32_t>());
          break;
        case DType::kInt64:
          good = compute::ParseNumber(text_, out->mutable_data<int64_t>());
          break;
        default:
          *out->mutable_data<std::string>() = text_;
      }
      if (good) return OkStatus();
      return InvalidArgument("Field ", i, " in record is not a valid ", WordFor(dtype), ": ",
                             text_);
    }

    const Csv& csv_;
    const DatasetPtr owner_;
    size_t at_ = 0;
    std::optional<CsvFileFields> fields_;  // of the file at `at_`, once it is open
    std::string text_;                     // of a field
  };

  const FilesOptions files_;
  const CsvOptions options_;
};

Status CheckDefaults(const std::vector<Tensor>& defaults, const ElementSpec& spec) {
  if (defaults.size() != spec.types.size()) {
    return InvalidArgument("there are ", spec.types.size(), " fields and ", defaults.size(),
                           " defaults");
  }
  for (size_t i = 0; i < defaults.size(); ++i) {
    const DType dtype = spec.types[i];
    if (dtype != DType::kFloat && dtype != DType::kDouble && dtype != DType::kInt32 &&
        dtype != DType::kInt64 && dtype != DType::kString) {
      return InvalidArgument("field ", i, " cannot be of type ", dtype);
    }
    if (defaults[i].dtype() != dtype) {
      return InvalidArgument("the default of field ", i, " is ", defaults[i].dtype(),
                             ", the field is ", dtype);
    }
    if (defaults[i].rank() > 1 || defaults[i].num_elements() > 1) {
      return InvalidArgument("Each record default should be at most rank 1 with at most one ",
                             "element, that of field ", i, " has shape ", defaults[i].shape());
    }
  }
  return OkStatus();
}

}  // namespace

Result<DatasetPtr> CsvDataset(FilesOptions files, CsvOptions options, ElementSpec spec) {
  RETURN_IF_ERROR(CheckDefaults(options.defaults, spec));
  const std::vector<int64_t>& columns = options.columns;
  const char* const which = options.excludes ? "exclude_cols" : "select_cols";
  if (!options.excludes && !columns.empty() && columns.size() != spec.types.size()) {
    return InvalidArgument("select_cols should match output size");
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) return InvalidArgument(which, " should be non-negative indices");
    if (i > 0 && columns[i] <= columns[i - 1]) {
      return InvalidArgument(which, " should be strictly increasing indices");
    }
  }
  return DatasetPtr(std::make_shared<Csv>(std::move(files), std::move(options), std::move(spec)));
}

}  // namespace thalweg
