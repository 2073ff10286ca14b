// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/base/mutex.h"
#include "thalweg/base/philox.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The records of files, epoch after epoch: files in a random order, records out of a buffer at
// random. Of each epoch all come before any of the next. The order is that of the seed.
class ShuffledRecords {
 public:
  struct Options {
    std::string pattern;
    uint64_t seed = 0;
    double shift_ratio = 0;
    size_t buffer = 0;
    Compression compression = Compression::kNone;
  };
  explicit ShuffledRecords(Options options)
      : options_(std::move(options)), random_(options_.seed) {}

  Result<std::string> Next() {
    RETURN_IF_ERROR(Fill());
    if (buffer_.empty()) {
      RETURN_IF_ERROR(BeginEpoch());
      RETURN_IF_ERROR(Fill());
    }
    if (buffer_.empty()) {
      return OutOfRange("the ", files_.size(), " files of '", options_.pattern,
                        "' hold no records");
    }
    std::swap(buffer_[Below(buffer_.size())], buffer_.back());
    std::string record = std::move(buffer_.back());
    buffer_.pop_back();
    return record;
  }

 private:
  size_t Below(size_t n) {
    const Philox::Block bits = random_.Next();
    return static_cast<size_t>((bits[0] | static_cast<uint64_t>(bits[1]) << 32) % n);
  }

  Status BeginEpoch() {
    ASSIGN_OR_RETURN(files_, MatchingPaths(fs_, options_.pattern));
    if (files_.empty()) return NotFound("Found no files at ", options_.pattern);
    std::sort(files_.begin(), files_.end());
    for (size_t i = files_.size() - 1; i > 0; --i) std::swap(files_[i], files_[Below(i + 1)]);
    const auto shift = static_cast<ptrdiff_t>(options_.shift_ratio *
                                              static_cast<double>(files_.size() * epoch_++));
    std::rotate(files_.begin(), files_.begin() + shift % static_cast<ptrdiff_t>(files_.size()),
                files_.end());
    next_file_ = 0;
    return OkStatus();
  }

  // As many records of this epoch as the buffer takes.
  Status Fill() {
    while (buffer_.size() < options_.buffer) {
      if (!file_) {
        if (next_file_ == files_.size()) return OkStatus();
        ASSIGN_OR_RETURN(file_, BlockFile::Open(fs_, files_[next_file_++],
                                                {.compression = options_.compression}));
      }
      const Result<std::optional<std::string_view>> record = NextRecord(*file_);
      if (record.ok() && *record) {
        buffer_.emplace_back(**record);
        continue;
      }
      file_.reset();  // after damage comes the next one
      RETURN_IF_ERROR(record.status());
    }
    return OkStatus();
  }

  const Options options_;
  PosixFileSystem fs_;
  Philox random_;
  std::vector<std::string> files_;
  size_t next_file_ = 0;
  size_t epoch_ = 0;
  std::optional<BlockFile> file_;
  std::vector<std::string> buffer_;
};

// file_parallelism changes nothing but the order: one file is read at a time.
class RecordInputCpu : public Kernel {
 public:
  RecordInputCpu(ShuffledRecords::Options options, int64_t batch)
      : batch_(batch), records_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ShuffledRecords::Options options;
    ASSIGN_OR_RETURN(options.pattern, c.Attr<std::string>("file_pattern"));
    ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("file_random_seed"));
    ASSIGN_OR_RETURN(const float shift, c.Attr<float>("file_shuffle_shift_ratio"));
    ASSIGN_OR_RETURN(const int64_t buffer, c.Attr<int64_t>("file_buffer_size"));
    ASSIGN_OR_RETURN(const int64_t parallelism, c.Attr<int64_t>("file_parallelism"));
    ASSIGN_OR_RETURN(const int64_t batch, c.Attr<int64_t>("batch_size"));
    ASSIGN_OR_RETURN(const std::string compression, c.Attr<std::string>("compression_type"));
    for (const auto& [name, value] :
         {std::pair("file_buffer_size", buffer), std::pair("file_parallelism", parallelism),
          std::pair("batch_size", batch)}) {
      if (value < 1 || value > std::numeric_limits<int32_t>::max()) {
        return InvalidArgument(name, " must be between 1 and 2^31 - 1, got ", value);
      }
    }
    if (!(shift >= 0 && shift <= 1)) {
      return InvalidArgument("file_shuffle_shift_ratio must be between 0 and 1, got ", shift);
    }
    ASSIGN_OR_RETURN(options.compression, CompressionNamed(compression));
    options.seed = static_cast<uint64_t>(seed);
    options.shift_ratio = shift;
    options.buffer = static_cast<size_t>(buffer);
    return std::unique_ptr<Kernel>(std::make_unique<RecordInputCpu>(std::move(options), batch));
  }

  Status Compute(Context& ctx) override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::vector<std::string> batch;
    while (static_cast<int64_t>(batch.size()) < batch_) {
      ASSIGN_OR_RETURN(std::string record, records_.Next());
      batch.push_back(std::move(record));
      RETURN_IF_ERROR(ctx.step().cancellation->Reason());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape{batch_}));
    std::move(batch.begin(), batch.end(), out->mutable_data<std::string>());
    return OkStatus();
  }

 private:
  const int64_t batch_;
  Mutex mutex_;
  ShuffledRecords records_ GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(record_input, cpu) {
  registry.Add<RecordInputCpu>("RecordInput", kCpu).Cost(KernelCost::kExpensive);
}
