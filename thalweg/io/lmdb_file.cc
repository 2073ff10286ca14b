// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/lmdb_file.h"

#include <cstring>

#include "thalweg/base/str_cat.h"
#include "thalweg/io/fixed_int.h"

namespace thalweg {
namespace {

// Version 1 of the format, as machines of 64 bits with the low byte first write it. Every page
// begins with its number (8 bytes), 2 bytes without a meaning, its flags (2) and the bytes that are
// free in it, from (2) to (2); pages that continue say how many they are instead (4).
constexpr uint32_t kLmdbMagic = 0xBEEFC0DE;
constexpr uint32_t kLmdbVersion = 1;
constexpr size_t kPageHeader = 16;
constexpr size_t kPageFlags = 10, kFreeBegin = 12, kPageCount = 12;
enum PageFlag : uint16_t { kBranch = 1, kLeaf = 2, kOverflow = 4, kState = 8 };
constexpr uint16_t kKindOfPage = 0x6f;  // the other flags are of pages in memory

// The state of the database, twice: in the first page, and in the second.
constexpr size_t kStateBytes = 152;
constexpr size_t kStateMagic = 16, kStateVersion = 20, kPageSize = 40, kTreeFlags = 92,
                 kTreeDepth = 94, kTreeEntries = 120, kTreeRoot = 128, kLastPage = 136,
                 kTransaction = 144;
constexpr uint16_t kSeveralValues = 4;
constexpr size_t kMostDepth = 32;  // what LMDB itself follows

// An entry of a page: 4 bytes of the value's length (or of a page's number), flags or more of that
// number (2), the length of the key (2), the key, the value.
constexpr size_t kEntryHeader = 8;
constexpr size_t kEntryFlags = 4, kKeyLength = 6;
enum EntryFlag : uint16_t { kElsewhere = 1, kDatabase = 2, kRepeated = 4 };

uint16_t LoadFixed16(const char* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

Status LmdbFile::Damaged(uint64_t page, std::string_view what) const {
  return DataLoss(path_, ": page ", page, " of an LMDB database: ", what);
}

Result<LmdbFile> LmdbFile::Open(FileSystem& fs, std::string path) {
  ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.is_directory) path += "/data.mdb";
  ASSIGN_OR_RETURN(auto bytes, fs.OpenForReading(path));
  LmdbFile file(std::move(path), std::move(bytes));
  RETURN_IF_ERROR(file.ReadNewestState());
  return file;
}

Status LmdbFile::ReadNewestState() {
  const auto read = [&](uint64_t page, char* state) -> Status {
    ASSIGN_OR_RETURN(const size_t n, file_->Read(page * page_bytes_, state, kStateBytes));
    if (n < kStateBytes) return Damaged(page, StrCat("expected ", kStateBytes, " bytes, got ", n));
    if (LoadFixed32(state + kStateMagic) != kLmdbMagic) return Damaged(page, "is none");
    const uint32_t version = LoadFixed32(state + kStateVersion);
    if (version == kLmdbVersion) return OkStatus();
    return Damaged(page, StrCat("expected version ", kLmdbVersion, ", got ", version));
  };
  char newest[kStateBytes], other[kStateBytes];
  RETURN_IF_ERROR(read(0, newest));
  page_bytes_ = LoadFixed32(newest + kPageSize);
  if (page_bytes_ < 256 || page_bytes_ > 32768 || (page_bytes_ & (page_bytes_ - 1)) != 0) {
    return Damaged(0, StrCat("expected pages of 256 to 32768 bytes, got ", page_bytes_));
  }
  RETURN_IF_ERROR(read(1, other));
  uint64_t page = 0;
  if (LoadFixed64(other + kTransaction) > LoadFixed64(newest + kTransaction)) {
    std::memcpy(newest, other, kStateBytes);
    page = 1;
  }
  ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  pages_ = size / page_bytes_;
  const uint64_t last = LoadFixed64(newest + kLastPage);
  if (last >= pages_) {
    return Damaged(page,
                   StrCat("expected ", last, " pages behind the first, the file has ", pages_ - 1));
  }
  if ((LoadFixed16(newest + kTreeFlags) & kSeveralValues) != 0) {
    return Unimplemented(path_, ": an LMDB database with several values to a key");
  }
  root_ = LoadFixed64(newest + kTreeRoot);
  depth_ = LoadFixed16(newest + kTreeDepth);
  entries_ = LoadFixed64(newest + kTreeEntries);
  if (depth_ <= kMostDepth && (entries_ == 0) == (depth_ == 0)) return OkStatus();
  return Damaged(page, StrCat("a tree of ", entries_, " entries is ", depth_, " pages deep"));
}

Status LmdbFile::Enter(uint64_t number) {
  if (number >= pages_) return Damaged(number, StrCat("the file has ", pages_, " pages"));
  if (pages_read_ >= pages_) return Damaged(number, "is more than once in the tree");
  Page page{number, std::string(page_bytes_, '\0'), 0};
  RETURN_IF_ERROR(
      ReadExactly(*file_, number * page_bytes_, page.bytes.data(), page_bytes_).WithContext(path_));
  const char* bytes = page.bytes.data();
  const uint64_t found = LoadFixed64(bytes);
  if (found != number) return Damaged(number, StrCat("it says that it is page ", found));
  const uint16_t kind = LoadFixed16(bytes + kPageFlags) & kKindOfPage;
  const bool is_last = way_.size() + 1 == depth_;
  if (kind != (is_last ? kLeaf : kBranch)) {
    return Damaged(number, StrCat("expected a ", is_last ? "leaf" : "branch", ", got kind ", kind));
  }
  const size_t end = LoadFixed16(bytes + kFreeBegin);
  if (end < kPageHeader || end > page_bytes_) {
    return Damaged(number, StrCat("the list of its entries ends at byte ", end));
  }
  page.entries = (end - kPageHeader) / sizeof(uint16_t);
  way_.push_back(std::move(page));
  ++pages_read_;
  return OkStatus();
}

// From its first byte to the end of the page.
Result<std::string_view> LmdbFile::EntryThatComes() const {
  const Page& page = way_.back();
  const size_t at = LoadFixed16(page.bytes.data() + kPageHeader + page.next * sizeof(uint16_t));
  if (at >= kPageHeader && at + kEntryHeader <= page_bytes_) {
    const auto entry = std::string_view(page.bytes).substr(at);
    if (kEntryHeader + LoadFixed16(entry.data() + kKeyLength) <= entry.size()) return entry;
  }
  return Damaged(page.number, StrCat("entry ", page.next, " at byte ", at, " ends beyond it"));
}

Result<std::string> LmdbFile::ReadFromPages(uint64_t first, uint64_t bytes,
                                            const MakeRoom& make_room) const {
  char header[kPageHeader];
  if (first >= pages_) return Damaged(first, StrCat("the file has ", pages_, " pages"));
  RETURN_IF_ERROR(ReadExactly(*file_, first * page_bytes_, header, kPageHeader).WithContext(path_));
  const uint64_t count = LoadFixed32(header + kPageCount);
  const bool is_kind = (LoadFixed16(header + kPageFlags) & kKindOfPage) == kOverflow;
  if (LoadFixed64(header) != first || !is_kind || count > pages_ - first ||
      kPageHeader + bytes > count * page_bytes_) {
    return Damaged(first,
                   StrCat("expected the first of the pages of a value of ", bytes, " bytes"));
  }
  RETURN_IF_ERROR(make_room(bytes).WithContext(path_));
  std::string value(bytes, '\0');
  RETURN_IF_ERROR(ReadExactly(*file_, first * page_bytes_ + kPageHeader, value.data(), value.size())
                      .WithContext(path_));
  return value;
}

Result<LmdbFile::Pair> LmdbFile::PairOf(std::string_view entry, const MakeRoom& make_room) const {
  const uint64_t page = way_.back().number;
  const size_t key_bytes = LoadFixed16(entry.data() + kKeyLength);
  const uint16_t flags = LoadFixed16(entry.data() + kEntryFlags);
  Pair pair{std::string(entry.substr(kEntryHeader, key_bytes)), ""};
  if ((flags & (kDatabase | kRepeated)) != 0) {
    return Unimplemented(path_, ": the key '", pair.key, "' is that of a database inside");
  }
  const uint64_t bytes = LoadFixed32(entry.data());
  const std::string_view inside = entry.substr(kEntryHeader + key_bytes);
  if ((flags & kElsewhere) != 0) {
    if (inside.size() < sizeof(uint64_t)) return Damaged(page, "a value lies nowhere");
    ASSIGN_OR_RETURN(pair.value, ReadFromPages(LoadFixed64(inside.data()), bytes, make_room));
    return pair;
  }
  if (bytes > inside.size()) {
    return Damaged(page, StrCat("expected a value of ", bytes, " bytes, got ", inside.size()));
  }
  RETURN_IF_ERROR(make_room(bytes).WithContext(path_));
  pair.value = inside.substr(0, bytes);
  return pair;
}

Result<std::optional<LmdbFile::Pair>> LmdbFile::Next(const MakeRoom& make_room) {
  if (entries_ == 0) return std::optional<Pair>();
  if (pages_read_ == 0) RETURN_IF_ERROR(Enter(root_));
  while (!way_.empty()) {
    if (way_.back().next == way_.back().entries) {
      way_.pop_back();
      continue;
    }
    ASSIGN_OR_RETURN(const std::string_view entry, EntryThatComes());
    if (way_.size() == depth_) {
      ASSIGN_OR_RETURN(Pair pair, PairOf(entry, make_room));
      ++way_.back().next;
      ++entries_read_;
      return std::optional<Pair>(std::move(pair));
    }
    const size_t parent = way_.size() - 1;
    const uint64_t high = LoadFixed16(entry.data() + kEntryFlags);
    RETURN_IF_ERROR(Enter(LoadFixed32(entry.data()) | high << 32));
    ++way_[parent].next;
  }
  if (entries_read_ == entries_) return std::optional<Pair>();
  return DataLoss(path_, ": expected ", entries_, " entries of an LMDB database, got ",
                  entries_read_);
}

}  // namespace thalweg
