// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thalweg/io/record_reader.h"

namespace thalweg {
namespace {

constexpr size_t kLineReadBytes = size_t{1} << 16;

class IdentitySource final : public RecordSource {
 public:
  Status Begin(const std::string& work) override {
    work_ = work;
    return OkStatus();
  }
  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    RETURN_IF_ERROR(make_room(work_.size()));
    return std::optional<SourceRecord>({work_, work_});
  }
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
  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    ASSIGN_OR_RETURN(std::string text, ReadFile(fs_, path_, {.make_room = make_room}));
    return std::optional<SourceRecord>({path_, std::move(text)});
  }
  bool is_one_record() const override { return true; }

 private:
  FileSystem& fs_;
  std::string path_;
};

class LineSource final : public RecordSource {
 public:
  LineSource(FileSystem& fs, const LineForm& form) : fs_(fs), form_(form) {}

  Status Begin(const std::string& work) override {
    path_ = work;
    buffer_.clear();
    next_ = 0;
    offset_ = 0;
    line_ = 0;
    file_.reset();
    ASSIGN_OR_RETURN(file_, fs_.OpenForReading(work));
    return OkStatus();
  }

  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    while (true) {
      std::string text;
      ASSIGN_OR_RETURN(const bool found, ReadLine(make_room, &text));
      if (!found) return std::optional<SourceRecord>();
      if (++line_ <= form_.skip_lines) continue;
      return std::optional<SourceRecord>({StrCat(path_, ":", line_), std::move(text)});
    }
  }

 private:
  // Without the newline, and without carriage returns, wherever they stand.
  Result<bool> ReadLine(const RoomFn& make_room, std::string* text) {
    const uint64_t begin = offset_ - (buffer_.size() - next_);
    for (size_t scanned = next_;;) {
      const size_t end = buffer_.find('\n', scanned);
      if (end != std::string::npos) {
        TakeText(end, text);
        next_ = end + 1;
        return true;
      }
      scanned = buffer_.size() - next_;
      RETURN_IF_ERROR(
          make_room(scanned + kLineReadBytes).WithContext(StrCat(path_, ": line at byte ", begin)));
      ASSIGN_OR_RETURN(const bool more, Fill());
      if (more) continue;
      if (next_ == buffer_.size()) return false;
      TakeText(buffer_.size(), text);
      next_ = buffer_.size();
      return true;
    }
  }

  void TakeText(size_t end, std::string* text) {
    text->assign(buffer_, next_, end - next_);
    text->erase(std::remove(text->begin(), text->end(), '\r'), text->end());
  }

  // Drops what was read; false at the end of the file.
  Result<bool> Fill() {
    buffer_.erase(0, std::exchange(next_, 0));
    const size_t had = buffer_.size();
    buffer_.resize(had + kLineReadBytes);
    const Result<size_t> read = file_->Read(offset_, buffer_.data() + had, kLineReadBytes);
    buffer_.resize(had + (read.ok() ? *read : 0));
    if (!read.ok()) return read.status();
    offset_ += *read;
    return *read > 0;
  }

  FileSystem& fs_;
  const LineForm form_;
  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  std::string buffer_;
  size_t next_ = 0;      // of the buffer
  uint64_t offset_ = 0;  // in the file, of what comes after the buffer
  int64_t line_ = 0;
};

class PieceSource final : public RecordSource {
 public:
  PieceSource(FileSystem& fs, const PieceForm& form) : fs_(fs), form_(form) {}

  Status Begin(const std::string& work) override {
    path_ = work;
    number_ = 0;
    file_.reset();
    ASSIGN_OR_RETURN(file_, fs_.OpenForReading(work));
    ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
    const auto header = static_cast<uint64_t>(form_.header_bytes);
    if (size < header) {
      return DataLoss(path_, ": expected a header of ", header, " bytes, the file has ", size);
    }
    offset_ = header;
    const auto footer = static_cast<uint64_t>(form_.footer_bytes);
    end_ = size - std::min(size - header, footer);
    return OkStatus();
  }

  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    const auto bytes = static_cast<uint64_t>(form_.record_bytes);
    if (offset_ > end_ || end_ - offset_ < bytes) return std::optional<SourceRecord>();
    RETURN_IF_ERROR(make_room(bytes));
    std::string value(static_cast<size_t>(bytes), '\0');
    RETURN_IF_ERROR(ReadExactly(*file_, offset_, value.data(), value.size()).WithContext(path_));
    offset_ += static_cast<uint64_t>(form_.hop_bytes > 0 ? form_.hop_bytes : form_.record_bytes);
    return std::optional<SourceRecord>({StrCat(path_, ":", number_++), std::move(value)});
  }

 private:
  FileSystem& fs_;
  const PieceForm form_;
  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t offset_ = 0;
  uint64_t end_ = 0;  // where the footer begins
  int64_t number_ = 0;
};

class RecordFileSource final : public RecordSource {
 public:
  RecordFileSource(FileSystem& fs, Compression kind) : fs_(fs), kind_(kind) {}

  Status Begin(const std::string& work) override {
    path_ = work;
    reader_.reset();
    ASSIGN_OR_RETURN(reader_, RecordReader::Open(fs_, work, kind_));
    return OkStatus();
  }

  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    const uint64_t at = reader_->offset();
    ASSIGN_OR_RETURN(std::optional<std::string> record, reader_->Next(make_room));
    if (!record) return std::optional<SourceRecord>();
    return std::optional<SourceRecord>({StrCat(path_, ":", at), *std::move(record)});
  }

 private:
  FileSystem& fs_;
  const Compression kind_;
  std::string path_;
  std::optional<RecordReader> reader_;
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
std::unique_ptr<RecordSource> MakeWholeFileSource(FileSystem& fs) {
  return std::make_unique<WholeFileSource>(fs);
}
std::unique_ptr<RecordSource> MakeIdentitySource() { return std::make_unique<IdentitySource>(); }

}  // namespace thalweg
