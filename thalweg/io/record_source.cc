// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_source.h"

#include <algorithm>
#include <utility>

#include "thalweg/io/file_parts.h"
#include "thalweg/io/lmdb_file.h"

namespace thalweg {
namespace {

constexpr int64_t kReadBytes = int64_t{1} << 16;

class IdentitySource final : public RecordSource {
 public:
  Status Begin(const std::string& work) override {
    work_ = work;
    return OkStatus();
  }
  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    RETURN_IF_ERROR(make_room(work_.size()));
    return std::optional<std::string>(work_);
  }
  std::string Key() const override { return work_; }
  bool is_one_record() const override { return true; }

 private:
  std::string work_;
};

class WholeFileSource final : public RecordSource {
 public:
  explicit WholeFileSource(FileSystem& fs) : fs_(fs) {}
  Status Begin(const std::string& work) override {
    path_ = work;
    return OkStatus();
  }
  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    ASSIGN_OR_RETURN(std::string text, ReadFile(fs_, path_, {.make_room = make_room}));
    return std::optional<std::string>(std::move(text));
  }
  std::string Key() const override { return path_; }
  bool is_one_record() const override { return true; }

 private:
  FileSystem& fs_;
  std::string path_;
};

// Gives the records of one file after the other.
class FileSource : public RecordSource {
 public:
  FileSource(FileSystem& fs, const BlockFileOptions& options) : fs_(fs), options_(options) {}

  Status Begin(const std::string& work) override {
    number_ = 0;
    file_.reset();
    ASSIGN_OR_RETURN(file_, BlockFile::Open(fs_, work, options_));
    return OkStatus();
  }
  std::string Key() const override {
    constexpr size_t kDigits = 20;
    std::string key;
    key.reserve(file_->path().size() + 1 + kDigits);
    key.append(file_->path()).push_back(':');
    AppendPart(key, place_);
    return key;
  }

 protected:
  BlockFile& file() { return *file_; }

  uint64_t number_ = 0;  // of the file's records so far
  uint64_t place_ = 0;   // in the key of the last one

 private:
  FileSystem& fs_;
  const BlockFileOptions options_;
  std::optional<BlockFile> file_;
};

class LineSource final : public FileSource {
 public:
  LineSource(FileSystem& fs, const LineForm& form)
      : FileSource(fs, {.block_bytes = kReadBytes}), form_(form) {}

  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    while (true) {
      ASSIGN_OR_RETURN(const auto line, NextLine(file(), make_room));
      if (!line) return std::optional<std::string>();
      if (++number_ <= static_cast<uint64_t>(form_.skip_lines)) continue;
      place_ = number_;
      // Without carriage returns, wherever they stand.
      std::string text(*line);
      const size_t found = text.find('\r');
      if (found != std::string::npos) {
        text.erase(std::remove(text.begin() + static_cast<ptrdiff_t>(found), text.end(), '\r'),
                   text.end());
      }
      return std::optional<std::string>(std::move(text));
    }
  }

 private:
  const LineForm form_;
};

class PieceSource final : public FileSource {
 public:
  PieceSource(FileSystem& fs, const PieceForm& form)
      : FileSource(fs, {.block_bytes = kReadBytes, .compression = form.compression}), form_(form) {}

  Status Begin(const std::string& work) override {
    RETURN_IF_ERROR(FileSource::Begin(work));
    const auto header = static_cast<uint64_t>(form_.header_bytes);
    ASSIGN_OR_RETURN(const uint64_t skipped, file().Skip(header));
    if (skipped == header) return OkStatus();
    return DataLoss(work, ": expected a header of ", header, " bytes, the file has ", skipped);
  }

  // A record is one when the footer still comes after it.
  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    const size_t record = static_cast<size_t>(form_.record_bytes);
    const size_t wanted = record + static_cast<size_t>(form_.footer_bytes);
    RETURN_IF_ERROR(make_room(wanted).WithContext(file().path()));
    ASSIGN_OR_RETURN(const std::string_view ahead, file().Ahead(wanted));
    if (ahead.size() < wanted) return std::optional<std::string>();
    std::string value(ahead.substr(0, record));
    RETURN_IF_ERROR(
        file()
            .Skip(static_cast<uint64_t>(form_.hop_bytes > 0 ? form_.hop_bytes : form_.record_bytes))
            .status());
    place_ = number_++;
    return std::optional<std::string>(std::move(value));
  }

 private:
  const PieceForm form_;
};

class RecordFileSource final : public FileSource {
 public:
  RecordFileSource(FileSystem& fs, Compression kind) : FileSource(fs, {.compression = kind}) {}

  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    const uint64_t at = file().offset();
    ASSIGN_OR_RETURN(const auto record, NextRecord(file(), make_room));
    if (!record) return std::optional<std::string>();
    place_ = at;
    return std::optional<std::string>(*record);
  }
};

class LmdbSource final : public RecordSource {
 public:
  explicit LmdbSource(FileSystem& fs) : fs_(fs) {}

  Status Begin(const std::string& work) override {
    file_.reset();
    ASSIGN_OR_RETURN(file_, LmdbFile::Open(fs_, work));
    return OkStatus();
  }
  Result<std::optional<std::string>> Next(const RoomFn& make_room) override {
    ASSIGN_OR_RETURN(auto pair, file_->Next(make_room));
    if (!pair) return std::optional<std::string>();
    key_ = std::move(pair->key);
    return std::optional<std::string>(std::move(pair->value));
  }
  std::string Key() const override { return key_; }

 private:
  FileSystem& fs_;
  std::optional<LmdbFile> file_;
  std::string key_;
};

}  // namespace

std::unique_ptr<RecordSource> MakeLineSource(FileSystem& fs, const LineForm& form) {
  return std::make_unique<LineSource>(fs, form);
}
std::unique_ptr<RecordSource> MakePieceSource(FileSystem& fs, const PieceForm& form) {
  return std::make_unique<PieceSource>(fs, form);
}
std::unique_ptr<RecordSource> MakeRecordFileSource(FileSystem& fs, Compression kind) {
  return std::make_unique<RecordFileSource>(fs, kind);
}
std::unique_ptr<RecordSource> MakeLmdbSource(FileSystem& fs) {
  return std::make_unique<LmdbSource>(fs);
}
std::unique_ptr<RecordSource> MakeWholeFileSource(FileSystem& fs) {
  return std::make_unique<WholeFileSource>(fs);
}
std::unique_ptr<RecordSource> MakeIdentitySource() { return std::make_unique<IdentitySource>(); }

}  // namespace thalweg
