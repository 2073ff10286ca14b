// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>

#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/compute/text/value_text.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {
namespace {

// In one piece, so that lines of several threads do not mix.
void Write(FILE* stream, const std::string& text) {
  fwrite(text.data(), 1, text.size(), stream);
  fflush(stream);
}

class PrintCpu : public Kernel {
 public:
  PrintCpu(std::string message, int64_t first, int64_t summarize)
      : message_(std::move(message)), first_(first), summarize_(summarize) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string message, c.Attr<std::string>("message"));
    ASSIGN_OR_RETURN(const int64_t first, c.Attr<int64_t>("first_n"));
    ASSIGN_OR_RETURN(const int64_t summarize, Int32Attr(c, "summarize"));
    return std::unique_ptr<Kernel>(
        std::make_unique<PrintCpu>(std::move(message), first, summarize));
  }

  Status Compute(Context& ctx) override {
    if (first_ < 0 || printed_.fetch_add(1, std::memory_order_relaxed) < first_) {
      std::string line = message_;
      HeapCharge charge;
      const auto may_grow = [&](size_t bytes) { return MayGrowTo(ctx, charge, bytes); };
      for (int i = 1; i < ctx.num_inputs(); ++i) {
        line += "[";
        RETURN_IF_ERROR(compute::SummarizeFirst(ctx.input(i), summarize_, line, may_grow));
        line += "]";
      }
      line += "\n";
      Write(stderr, line);
    }
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_, summarize_;
  std::atomic<int64_t> printed_{0};
};

class PrintV2Cpu : public Kernel {
 public:
  PrintV2Cpu(std::string stream, std::string end)
      : stream_(std::move(stream)), end_(std::move(end)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string stream, c.Attr<std::string>("output_stream"));
    ASSIGN_OR_RETURN(std::string end, c.Attr<std::string>("end"));
    constexpr std::string_view kFile = "file://";
    if (stream != "stdout" && stream != "stderr" && !stream.starts_with(kFile) &&
        !stream.starts_with("log(")) {
      return InvalidArgument("Unknown output stream: ", stream, ", or the file name is missing");
    }
    if (stream.starts_with("log(") && stream != "log(info)" && stream != "log(warning)" &&
        stream != "log(error)") {
      return InvalidArgument("Unknown output stream: ", stream);
    }
    return std::unique_ptr<Kernel>(std::make_unique<PrintV2Cpu>(std::move(stream), std::move(end)));
  }

  // A log line ends by itself.
  Status Compute(Context& ctx) override {
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("Input is expected to be scalar, but got ", ctx.input(0).shape());
    }
    const std::string& text = ctx.input(0).scalar<std::string>();
    if (stream_ == "stdout" || stream_ == "stderr") {
      Write(stream_ == "stdout" ? stdout : stderr, text + end_);
      return OkStatus();
    }
    if (stream_.starts_with("log(")) {
      Write(stderr, StrCat(stream_ == "log(info)"      ? "INFO"
                           : stream_ == "log(warning)" ? "WARNING"
                                                       : "ERROR",
                           ": ", text, "\n"));
      return OkStatus();
    }
    MutexLock lock(mutex_);
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const auto file, files.OpenForAppending(stream_.substr(7)));
    RETURN_IF_ERROR(file->Append(text + end_));
    return file->Close();
  }

 private:
  const std::string stream_, end_;
  Mutex mutex_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(print, cpu) {
  registry.Add<PrintCpu>("Print", kCpu).KeepsState();
  registry.Add<PrintV2Cpu>("PrintV2", kCpu).KeepsState();
}
