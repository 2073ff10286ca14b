// SPDX-License-Identifier: Apache-2.0
#include "thalweg/trace/recording_file.h"

#include <optional>
#include <utility>

#include "thalweg/io/deflate.h"
#include "thalweg/io/inflate.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/proto/wire.h"
#include "thalweg/trace/packed_recording.h"

namespace thalweg {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b", kZstdMagic = "\x28\xb5\x2f\xfd";

// A binary message begins with the tag of a text, which no letter is.
bool IsTextForm(std::string_view bytes) {
  const char c = bytes.empty() ? '\0' : bytes.front();
  return (c >= 'a' && c <= 'z') || c == '#';
}

// What it is known to be otherwise.
std::string_view OtherForm(std::string_view bytes) {
  if (bytes.starts_with('{')) return "JSON";
  if (bytes.starts_with('<')) return "XML or HTML";
  if (bytes.starts_with(kGzipMagic)) return "what gzip has compressed twice";
  if (bytes.starts_with(kZstdMagic)) return "what zstd has compressed, where gzip's is read";
  return "";
}

Status RefuseOthers(std::string_view bytes) {
  const std::string_view found = OtherForm(bytes);
  if (found.empty()) return OkStatus();
  return InvalidArgument("expected a RunMetadata message (binary or .pbtxt), found ", found);
}

// Once; nothing for what gzip has not compressed.
Result<std::optional<std::string>> Gunzipped(std::string_view bytes, uint64_t most) {
  if (!bytes.starts_with(kGzipMagic)) return std::optional<std::string>();
  std::string inflated;
  ASSIGN_OR_RETURN(inflated, Inflate(bytes, Compression::kGzip, [most](uint64_t size) {
                     if (size <= most) return OkStatus();
                     return DataLoss("expected a recording of at most ",
                                     BytesWords(static_cast<int64_t>(most)),
                                     ", found one that unpacks to more");
                   }));
  return std::optional(std::move(inflated));
}

Result<std::string> MessageOfText(std::string_view text) {
  const Result<OwnedMessage> message = ParseText(pb::RunMetadata::Descriptor(), text);
  if (!message.ok()) {
    return InvalidArgument("expected a RunMetadata message: ", message.status().message());
  }
  return Serialize(**message);
}

// The message in a file: of the bytes themselves, or of *made.
Result<std::string_view> MessageIn(std::string_view bytes, uint64_t most, std::string* made) {
  std::optional<std::string> inflated;
  ASSIGN_OR_RETURN(inflated, Gunzipped(bytes, most));
  if (inflated.has_value()) bytes = *inflated;
  if (IsPackedRecording(bytes)) {
    ASSIGN_OR_RETURN(const PackedRecording packed, PackedRecording::Open(bytes));
    ASSIGN_OR_RETURN(*made, packed.Unpack());
    return std::string_view(*made);
  }
  RETURN_IF_ERROR(RefuseOthers(bytes));
  if (IsTextForm(bytes)) {
    ASSIGN_OR_RETURN(*made, MessageOfText(bytes));
    return std::string_view(*made);
  }
  if (!inflated.has_value()) return bytes;
  *made = *std::move(inflated);
  return std::string_view(*made);
}

Status ReadPlain(const std::string& path, std::string_view bytes, StepStatsReader* reader,
                 StepStatsReader::Passed passed) {
  if (IsPackedRecording(bytes)) {
    const Result<PackedRecording> packed = PackedRecording::Open(bytes);
    if (!packed.ok()) return packed.status().WithContext(path);
    return reader->AddPacked(path, *packed);
  }
  RETURN_IF_ERROR(RefuseOthers(bytes).WithContext(path));
  if (!IsTextForm(bytes)) return reader->Add(path, bytes, std::move(passed));
  const Result<std::string> message = MessageOfText(bytes);
  if (!message.ok()) return message.status().WithContext(path);
  return reader->Add(path, *message);
}

}  // namespace

Status ReadRecording(const std::string& path, std::string_view bytes, StepStatsReader* reader,
                     StepStatsReader::Passed passed) {
  const Result<std::optional<std::string>> inflated = Gunzipped(bytes, kMostUnpacked);
  if (!inflated.ok()) return inflated.status().WithContext(path);
  if (inflated->has_value()) return ReadPlain(path, **inflated, reader, {});
  return ReadPlain(path, bytes, reader, std::move(passed));
}

Result<std::string> MessageOfRecording(std::string_view bytes, uint64_t most) {
  std::string made;
  ASSIGN_OR_RETURN(const std::string_view message, MessageIn(bytes, most, &made));
  if (made.empty()) return std::string(message);
  return made;
}

Result<std::string> CompactRecording(std::string_view bytes) {
  std::string packed;
  {
    std::string made;
    ASSIGN_OR_RETURN(const std::string_view message, MessageIn(bytes, kMostUnpacked, &made));
    if (message.size() > kMostUnpacked) {
      return InvalidArgument("expected a recording of at most ", BytesWords(int64_t{kMostUnpacked}),
                             " to make it compact, found ",
                             BytesWords(static_cast<int64_t>(message.size())));
    }
    packed = PackRecording(message);
  }
  Result<Deflater> deflater = Deflater::Make(Compression::kGzip);
  if (!deflater.ok()) return packed;  // without zlib
  std::string compact;
  RETURN_IF_ERROR(deflater->Add(packed, &compact));
  RETURN_IF_ERROR(deflater->Finish(&compact));
  return compact;
}

}  // namespace thalweg
