// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/file_sources.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "thalweg/data/state.h"
#include "thalweg/io/file_parts.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {
namespace {

constexpr size_t kFewBytes = size_t{1} << 16;

// Goes from file to file. What a file consists of is Part's.
class FilesStage : public Stage {
 public:
  FilesStage(const FilesOptions& options, DatasetPtr owner)
      : options_(options), owner_(std::move(owner)) {}

  Result<Poll> DoNext(const Poller& poller, Element* out) final {
    while (at_ < options_.files.size()) {
      RETURN_IF_ERROR(poller.Look());
      const Result<bool> found = InFile(poller, out);
      if (found.ok() && *found) return Poll::kElement;
      ++at_;
      file_.reset();
      RETURN_IF_ERROR(found.status());
    }
    return Poll::kEnd;
  }

  Result<Poll> Save(const Poller&, StateWriter& writer) final {
    writer.Add(static_cast<int64_t>(at_));
    writer.Add(file_.has_value() ? static_cast<int64_t>(file_->offset()) : -1);
    return Poll::kElement;
  }
  Status Restore(const Poller& poller, StateReader& reader) final {
    int64_t at = 0, offset = 0;
    RETURN_IF_ERROR(reader.Read(&at));
    RETURN_IF_ERROR(reader.Read(&offset));
    if (at < 0 || at > static_cast<int64_t>(options_.files.size())) {
      return InvalidArgument("the state of the iterator is of ", at, " files, there are ",
                             options_.files.size());
    }
    at_ = static_cast<size_t>(at);
    if (offset < 0 || at_ == options_.files.size()) return OkStatus();
    RETURN_IF_ERROR(Open());
    return file_->Seek(static_cast<uint64_t>(offset), [&] { return poller.Look(); });
  }

 protected:
  // The next part of the file; nothing at its end.
  virtual Result<bool> Part(const Poller& poller, BlockFile& file, Tensor* text) = 0;
  // Its bytes count against the limit of memory before they are copied; a few count with who keeps
  // them.
  static Status Set(const Poller& poller, std::string_view bytes, Tensor* text) {
    if (bytes.size() > kFewBytes) {
      RETURN_IF_ERROR(ClaimTextHeap(poller.allocator(), *text, TextHeapBytes(bytes.size())));
    }
    text->mutable_data<std::string>()->assign(bytes);
    return OkStatus();
  }
  // A file that was just opened.
  virtual Status Begin(const Poller&, BlockFile&) { return OkStatus(); }

 private:
  Status Open() {
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(file_, BlockFile::Open(fs, options_.files[at_], options_.reading));
    return OkStatus();
  }
  Result<bool> InFile(const Poller& poller, Element* out) {
    if (!file_.has_value()) {
      RETURN_IF_ERROR(Open());
      RETURN_IF_ERROR(Begin(poller, *file_));
    }
    ASSIGN_OR_RETURN(Tensor text, Tensor::Allocate(poller.allocator(), DType::kString, Shape()));
    ASSIGN_OR_RETURN(const bool found, Part(poller, *file_, &text));
    if (found) {
      out->clear();
      out->push_back(std::move(text));
    }
    return found;
  }

  const FilesOptions& options_;
  const DatasetPtr owner_;
  size_t at_ = 0;
  std::optional<BlockFile> file_;  // the one at `at_`, once it is open
};

class LinesStage : public FilesStage {
 public:
  using FilesStage::FilesStage;

 private:
  Result<bool> Part(const Poller& poller, BlockFile& file, Tensor* text) override {
    ASSIGN_OR_RETURN(std::optional<std::string_view> line, NextLine(file, FileRoom(poller)));
    if (!line) return false;
    if (line->ends_with('\r')) line->remove_suffix(1);
    RETURN_IF_ERROR(Set(poller, *line, text));
    return true;
  }
};

class RecordsStage : public FilesStage {
 public:
  using FilesStage::FilesStage;

 private:
  Result<bool> Part(const Poller& poller, BlockFile& file, Tensor* text) override {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record,
                     NextRecord(file, FileRoom(poller)));
    if (!record) return false;
    RETURN_IF_ERROR(Set(poller, *record, text));
    return true;
  }
};

class PiecesStage : public FilesStage {
 public:
  PiecesStage(const FilesOptions& options, const PiecesOptions& pieces, DatasetPtr owner)
      : FilesStage(options, std::move(owner)), pieces_(pieces) {}

 private:
  Status Begin(const Poller& poller, BlockFile& file) override {
    ASSIGN_OR_RETURN(const std::optional<uint64_t> size, file.Size());
    const auto around = static_cast<uint64_t>(pieces_.header_bytes + pieces_.footer_bytes);
    const auto piece = static_cast<uint64_t>(pieces_.piece_bytes);
    if (size && (*size < around || (*size - around) % piece != 0)) {
      return InvalidArgument(Uneven(file, *size));
    }
    return file.Seek(static_cast<uint64_t>(pieces_.header_bytes), [&] { return poller.Look(); });
  }
  Result<bool> Part(const Poller& poller, BlockFile& file, Tensor* text) override {
    const auto piece = static_cast<size_t>(pieces_.piece_bytes);
    const auto footer = static_cast<size_t>(pieces_.footer_bytes);
    RETURN_IF_ERROR(FileRoom(poller)(piece + footer));
    ASSIGN_OR_RETURN(const std::string_view ahead, file.Ahead(piece + footer));
    if (ahead.size() == footer) return false;
    if (ahead.size() < piece + footer) {
      return DataLoss(Uneven(file, file.offset() + ahead.size()));
    }
    RETURN_IF_ERROR(Set(poller, ahead.substr(0, piece), text));
    file.Take(piece);
    return true;
  }
  std::string Uneven(const BlockFile& file, uint64_t size) const {
    return StrCat("Excluding the header (", pieces_.header_bytes, " bytes) and footer (",
                  pieces_.footer_bytes, " bytes), input file \"", file.path(),
                  "\" has body length ",
                  static_cast<int64_t>(size) - pieces_.header_bytes - pieces_.footer_bytes,
                  " bytes, which is not an exact multiple of the record length (",
                  pieces_.piece_bytes, " bytes).");
  }

  const PiecesOptions& pieces_;
};

template <class S, class... Options>
class Files : public Dataset {
 public:
  Files(std::string kind, FilesOptions files, Options... options, ElementSpec spec)
      : Dataset(std::move(spec)),
        kind_(std::move(kind)),
        files_(std::move(files)),
        options_(std::move(options)...) {}
  std::string Kind() const override { return kind_; }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return std::apply(
        [this](const Options&... options) -> Result<StagePtr> {
          return StagePtr(std::make_unique<S>(files_, options..., shared_from_this()));
        },
        options_);
  }

 private:
  const std::string kind_;
  const FilesOptions files_;
  const std::tuple<Options...> options_;
};

}  // namespace

MakeRoom FileRoom(const Poller& poller) {
  return [&poller](uint64_t bytes) -> Status {
    RETURN_IF_ERROR(poller.Look());
    if (bytes <= kFewBytes) return OkStatus();
    ASSIGN_OR_RETURN(Tensor asking, Tensor::Allocate(poller.allocator(), DType::kString, Shape()));
    return ClaimTextHeap(poller.allocator(), asking, bytes);
  };
}

DatasetPtr LinesDataset(FilesOptions options, ElementSpec spec) {
  return std::make_shared<Files<LinesStage>>("TextLine", std::move(options), std::move(spec));
}

DatasetPtr RecordsDataset(FilesOptions options, ElementSpec spec) {
  return std::make_shared<Files<RecordsStage>>("TFRecord", std::move(options), std::move(spec));
}

Result<DatasetPtr> PiecesDataset(FilesOptions options, const PiecesOptions& pieces,
                                 ElementSpec spec) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (pieces.piece_bytes <= 0) return InvalidArgument("`record_bytes` must be > 0");
  if (pieces.header_bytes < 0) return InvalidArgument("`header_bytes` must be >= 0");
  if (pieces.footer_bytes < 0) return InvalidArgument("`footer_bytes` must be >= 0");
  if (std::max({pieces.piece_bytes, pieces.header_bytes, pieces.footer_bytes}) > kMost) {
    return InvalidArgument("records, headers and footers may have at most ", kMost, " bytes");
  }
  return DatasetPtr(std::make_shared<Files<PiecesStage, PiecesOptions>>(
      "FixedLengthRecord", std::move(options), pieces, std::move(spec)));
}

}  // namespace thalweg
