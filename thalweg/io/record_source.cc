// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/record_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thalweg/io/record_reader.h"

namespace thalweg {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;

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
          make_room(scanned + kReadBytes).WithContext(StrCat(path_, ": line at byte ", begin)));
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
    buffer_.resize(had + kReadBytes);
    const Result<size_t> read = file_->Read(offset_, buffer_.data() + had, kReadBytes);
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
    buffer_.clear();
    next_ = 0;
    offset_ = 0;
    file_.reset();
    ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, fs_.OpenForReading(work));
    ASSIGN_OR_RETURN(file_, OpenInflated(std::move(file), work, form_.compression));
    const auto header = static_cast<uint64_t>(form_.header_bytes);
    ASSIGN_OR_RETURN(const uint64_t skipped, Skip(header));
    if (skipped == header) return OkStatus();
    return DataLoss(path_, ": expected a header of ", header, " bytes, the file has ", skipped);
  }

  // A record is one when the footer still comes after it.
  Result<std::optional<SourceRecord>> Next(const RoomFn& make_room) override {
    const uint64_t wanted =
        static_cast<uint64_t>(form_.record_bytes) + static_cast<uint64_t>(form_.footer_bytes);
    RETURN_IF_ERROR(make_room(wanted).WithContext(path_));
    ASSIGN_OR_RETURN(const bool found, Fill(wanted));
    if (!found) return std::optional<SourceRecord>();
    std::string value = buffer_.substr(next_, static_cast<size_t>(form_.record_bytes));
    RETURN_IF_ERROR(
        Skip(static_cast<uint64_t>(form_.hop_bytes > 0 ? form_.hop_bytes : form_.record_bytes))
            .status());
    return std::optional<SourceRecord>({StrCat(path_, ":", number_++), std::move(value)});
  }

 private:
  // Whether the file has n bytes more; they then are in the buffer.
  Result<bool> Fill(uint64_t n) {
    if (buffer_.size() - next_ >= n) return true;
    buffer_.erase(0, std::exchange(next_, 0));
    while (buffer_.size() < n) {
      const size_t had = buffer_.size();
      buffer_.resize(had + kReadBytes);
      const Result<size_t> read = file_->Read(offset_, buffer_.data() + had, kReadBytes);
      buffer_.resize(had + (read.ok() ? *read : 0));
      if (!read.ok()) return read.status();
      if (*read == 0) return false;
      offset_ += *read;
    }
    return true;
  }

  // How many of n bytes there were to leave out.
  Result<uint64_t> Skip(uint64_t n) {
    uint64_t skipped = 0;
    while (true) {
      const uint64_t here = std::min<uint64_t>(n - skipped, buffer_.size() - next_);
      next_ += static_cast<size_t>(here);
      skipped += here;
      if (skipped == n) return n;
      ASSIGN_OR_RETURN(const bool more, Fill(1));
      if (!more) return skipped;
    }
  }

  FileSystem& fs_;
  const PieceForm form_;
  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  std::string buffer_;
  size_t next_ = 0;      // of the buffer
  uint64_t offset_ = 0;  // in the file, of what comes after the buffer
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
