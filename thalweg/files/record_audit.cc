// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_audit.h"

#include <algorithm>

#include "thalweg/base/crc32c.h"
#include "thalweg/files/record_files.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

constexpr size_t kAuditPiece = size_t{256} << 10;

// Record `number` of the file; false where the file ends or cannot be followed.
Result<bool> AuditRecord(BlockFile& file, uint64_t number, Audit& audit, Progress& progress) {
  const std::string& path = file.path();
  const uint64_t at = file.offset();
  const std::string what = StrCat("record ", number);
  ASSIGN_OR_RETURN(std::string_view ahead, file.Ahead(kRecordHeaderBytes));
  if (ahead.empty()) return false;
  if (ahead.size() < kRecordHeaderBytes) {
    audit.Add({path, at, what + " is truncated",
               StrCat("a header of ", kRecordHeaderBytes, " bytes"),
               StrCat(ahead.size(), " bytes")});
    return false;
  }
  const uint64_t length = LoadFixed64(ahead.data());
  const uint32_t length_crc = UnmaskCrc32c(LoadFixed32(ahead.data() + 8));
  const uint32_t found_crc = Crc32c(ahead.substr(0, 8));
  audit.CheckCrc(path, at, what + "'s length", length_crc, found_crc);
  if (length_crc != found_crc) return false;
  file.Take(kRecordHeaderBytes);
  uint32_t crc = 0;
  for (uint64_t left = length; left > 0;) {
    ASSIGN_OR_RETURN(ahead, file.Ahead(1));
    if (ahead.empty()) {
      audit.Add({path, at, what + " is truncated", StrCat(length, " bytes"),
                 StrCat(length - left, " bytes")});
      return false;
    }
    const auto n = static_cast<size_t>(std::min<uint64_t>({left, ahead.size(), kAuditPiece}));
    crc = ExtendCrc32c(crc, ahead.substr(0, n));
    file.Take(n);
    left -= n;
    audit.bytes += n;
    RETURN_IF_ERROR(progress.Add(n));
  }
  ASSIGN_OR_RETURN(ahead, file.Ahead(kRecordFooterBytes));
  if (ahead.size() < kRecordFooterBytes) {
    audit.Add(
        {path, at, what + " is truncated", "a footer of 4 bytes", StrCat(ahead.size(), " bytes")});
    return false;
  }
  audit.CheckCrc(path, at + kRecordHeaderBytes, what, UnmaskCrc32c(LoadFixed32(ahead.data())), crc);
  file.Take(kRecordFooterBytes);
  audit.bytes += kRecordHeaderBytes + kRecordFooterBytes;
  ++audit.records;
  return true;
}

}  // namespace

Result<Audit> AuditRecords(FileSystem& fs, const std::vector<std::string>& paths,
                           const ProgressFn& tell) {
  ASSIGN_OR_RETURN(const uint64_t total, RecordFileBytes(fs, paths));
  Progress progress(tell, total);
  Audit audit;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(BlockFile file, OpenRecordFile(fs, path));
    audit.files.push_back(path);
    for (uint64_t number = 0;; ++number) {
      const Result<bool> more = AuditRecord(file, number, audit, progress);
      if (more.ok() && *more) continue;
      if (more.ok()) break;
      if (more.status().code() != Code::kDataLoss) return more.status();
      // What was compressed cannot be uncompressed further.
      audit.Add({path, file.offset(), std::string(more.status().message()), "", ""});
      break;
    }
  }
  return audit;
}

}  // namespace thalweg
