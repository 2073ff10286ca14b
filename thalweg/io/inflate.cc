// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/inflate.h"

#include <algorithm>
#include <utility>

#include "thalweg/io/find_zlib.h"

namespace thalweg {
namespace {

constexpr size_t kInflateBytes = size_t{1} << 16;

// Bytes that come from `more`, in pieces, uncompressed.
class Inflater {
 public:
  // The next compressed bytes, valid until the next call; empty at the end.
  using MoreFn = std::function<Result<std::string_view>()>;

  static Result<Inflater> Make(Compression kind, MoreFn more) {
    ASSIGN_OR_RETURN(const ThalwegZlibApi* const api, FindZlib());
    StreamPtr stream(api->open(kind == Compression::kGzip ? 1 : 0), api->close);
    if (stream == nullptr) return ResourceExhausted("no memory for a stream of zlib");
    return Inflater(api, std::move(stream), kind, std::move(more));
  }

  // Up to n bytes; fewer at the end, and before an error.
  Status Read(char* to, size_t n, size_t* read) {
    char* out = to;
    Status status;
    while (status.ok() && n > 0 && !at_end_) {
      if (in_.empty()) {
        Result<std::string_view> more = more_();
        status = more.status();
        if (!more.ok()) break;
        in_ = *more;
      }
      status = in_.empty() ? EndOfInput() : Step(&out, &n);
    }
    *read = static_cast<size_t>(out - to);
    return status;
  }

 private:
  using StreamPtr = std::unique_ptr<ThalwegInflate, void (*)(ThalwegInflate*)>;
  Inflater(const ThalwegZlibApi* api, StreamPtr stream, Compression kind, MoreFn more)
      : api_(api), stream_(std::move(stream)), kind_(kind), more_(std::move(more)) {}

  Status Step(char** out, size_t* n) {
    if (is_between_) {
      // Files of gzip may follow each other.
      if (kind_ != Compression::kGzip) {
        return DataLoss("byte ", at_, ": bytes follow the end of what was compressed");
      }
      api_->reset(stream_.get());
      is_between_ = false;
    }
    const char* in = in_.data();
    const char* why = "";
    auto in_left = static_cast<unsigned>(std::min(in_.size(), kInflateBytes));
    auto out_left = static_cast<unsigned>(std::min(*n, kInflateBytes));
    const unsigned room = out_left;
    const ThalwegZlibResult result = api_->run(stream_.get(), &in, &in_left, out, &out_left, &why);
    at_ += static_cast<uint64_t>(in - in_.data());
    in_.remove_prefix(static_cast<size_t>(in - in_.data()));
    *n -= room - out_left;
    is_between_ = result == kThalwegZlibEnd;
    if (result != kThalwegZlibError) return OkStatus();
    return DataLoss("byte ", at_, ": not what ", kind_ == Compression::kGzip ? "gzip" : "zlib",
                    " has compressed: ", why);
  }

  Status EndOfInput() {
    // Nothing at all is nothing, compressed or not.
    if (!is_between_ && at_ > 0)
      return DataLoss("the compressed bytes end too early, at byte ", at_);
    at_end_ = true;
    return OkStatus();
  }

  const ThalwegZlibApi* api_;
  StreamPtr stream_;
  Compression kind_;
  MoreFn more_;
  std::string_view in_;
  uint64_t at_ = 0;  // in the compressed bytes
  bool is_between_ = false;
  bool at_end_ = false;
};

class InflatedFile final : public RandomAccessFile {
 public:
  InflatedFile(std::unique_ptr<RandomAccessFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), buffer_(kInflateBytes, '\0') {}

  Status Start(Compression kind) {
    ASSIGN_OR_RETURN(Inflater inflater, Inflater::Make(kind, [this] { return More(); }));
    inflater_ = std::make_unique<Inflater>(std::move(inflater));
    return OkStatus();
  }
  Result<size_t> Read(uint64_t offset, void* buffer, size_t n) const override {
    if (!failure_.ok()) return failure_;
    if (offset != at_) {
      return Unimplemented(path_, ": a compressed file is read in order: expected offset ", at_,
                           ", got ", offset);
    }
    size_t read = 0;
    failure_ = inflater_->Read(static_cast<char*>(buffer), n, &read).WithContext(path_);
    at_ += read;
    if (!failure_.ok() && read == 0) return failure_;
    return read;  // what comes before an error counts
  }
  Result<uint64_t> Size() const override {
    return Unimplemented(path_, ": the size of a compressed file is not known");
  }

 private:
  Result<std::string_view> More() {
    ASSIGN_OR_RETURN(const size_t read, file_->Read(taken_, buffer_.data(), buffer_.size()));
    taken_ += read;
    return std::string_view(buffer_.data(), read);
  }

  const std::unique_ptr<RandomAccessFile> file_;
  const std::string path_;
  std::string buffer_;
  uint64_t taken_ = 0;
  std::unique_ptr<Inflater> inflater_;
  mutable uint64_t at_ = 0;
  mutable Status failure_;  // it stays
};

}  // namespace

Result<Compression> CompressionNamed(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return InvalidArgument("Only ZLIB, GZIP or NONE are supported compressions, got '", name, "'");
}

Result<std::string> Inflate(std::string_view bytes, Compression kind, const MakeRoom& make_room) {
  if (kind == Compression::kNone) {
    RETURN_IF_ERROR(make_room(bytes.size()));
    return std::string(bytes);
  }
  ASSIGN_OR_RETURN(Inflater inflater,
                   Inflater::Make(kind, [bytes]() mutable -> Result<std::string_view> {
                     return std::exchange(bytes, std::string_view());
                   }));
  std::string text;
  while (true) {
    const size_t had = text.size();
    const size_t piece = std::max(kInflateBytes, had);  // as its memory grows
    RETURN_IF_ERROR(make_room(had + piece));
    text.resize(had + piece);
    size_t read = 0;
    RETURN_IF_ERROR(inflater.Read(text.data() + had, piece, &read));
    text.resize(had + read);
    if (read < piece) break;
  }
  text.shrink_to_fit();
  return text;
}

Result<std::unique_ptr<RandomAccessFile>> OpenInflated(std::unique_ptr<RandomAccessFile> file,
                                                       std::string path, Compression kind) {
  if (kind == Compression::kNone) return file;
  auto inflated = std::make_unique<InflatedFile>(std::move(file), std::move(path));
  RETURN_IF_ERROR(inflated->Start(kind));
  return std::unique_ptr<RandomAccessFile>(std::move(inflated));
}

}  // namespace thalweg
