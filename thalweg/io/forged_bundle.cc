// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "thalweg/base/check.h"
#include "thalweg/base/crc32c.h"
#include "thalweg/base/file_system.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/table.h"
#include "thalweg/io/table_block.h"
#include "thalweg/io/test_forged_bundle.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace Pb = pb::BundleEntryProto;

constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;
constexpr int kMostBlocks = 100;  // an index may name one block many times

class StringFile : public WritableFile {
 public:
  const std::string& path() const override { return path_; }
  Status Append(std::string_view data) override {
    bytes.append(data);
    return OkStatus();
  }
  Status AppendWhole(std::string_view data) override { return Append(data); }
  Status Sync() override { return OkStatus(); }
  Status Close() override { return OkStatus(); }
  std::string bytes;

 private:
  const std::string path_ = "index";
};

std::string_view TakeCounted(std::string_view& rest) {
  const size_t n = std::min<size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 1);
  const std::string_view taken = rest.substr(1, n);
  rest.remove_prefix(n + 1);
  return taken;
}

std::string IndexOfRows(std::string_view rows) {
  std::map<std::string_view, std::string_view> sorted;
  while (!rows.empty()) {
    const std::string_view key = TakeCounted(rows);
    if (!rows.empty()) sorted[key] = TakeCounted(rows);
  }
  StringFile file;
  TableWriter writer(file);
  for (const auto& [key, value] : sorted) CHECK(writer.Add(key, value).ok());
  CHECK(writer.Finish().ok());
  return file.bytes;
}

// The handle (offset and size) of the block, which is appended with what belongs behind it, but
// for the checksum.
std::string AppendBlock(std::string& file, std::string_view block) {
  std::string handle;
  AppendVarint(handle, file.size());
  AppendVarint(handle, block.size());
  file.append(block);
  file.append(kTrailerBytes, '\0');  // not compressed
  return handle;
}

std::string IndexOfBlock(std::string_view block) {
  std::string file;
  const std::string handle = AppendBlock(file, block);
  TableBlockBuilder blocks(1);
  blocks.Add("last", handle);
  std::string footer = handle + AppendBlock(file, blocks.Finish());
  footer.resize(kFooterBytes - 8, '\0');
  AppendFixed64(footer, 0xdb4775248b80fb57ull);
  return file + footer;
}

// The block's bytes within the index, which end where its trailer begins.
std::optional<std::string_view> BlockAt(std::string_view index, std::string_view handle) {
  WireReader reader(handle);
  uint64_t offset = 0, size = 0;
  if (!reader.ReadVarint(&offset) || !reader.ReadVarint(&size)) return std::nullopt;
  if (offset > index.size() || size > index.size() - offset) return std::nullopt;
  if (index.size() - offset - size < kTrailerBytes) return std::nullopt;
  return index.substr(offset, size);
}

void WriteMasked(char* to, uint32_t crc) {
  const uint32_t masked = MaskCrc32c(crc);
  std::memcpy(to, &masked, 4);
}

void WriteBlockChecksum(std::string& index, std::string_view block) {
  char* begin = index.data() + (block.data() - index.data());
  WriteMasked(begin + block.size() + 1, Crc32c({begin, block.size() + 1}));
}

// The checksum that an entry of these bytes should have. The one of string lengths, which stands
// among the bytes, is written there.
uint32_t TensorChecksum(DType dtype, uint64_t elements, char* bytes, size_t size) {
  if (dtype != DType::kString) return Crc32c({bytes, size});
  WireReader reader({bytes, size});
  std::string lengths;
  for (uint64_t i = 0, length; i < elements && reader.ReadVarint(&length); ++i) {
    if (length <= UINT32_MAX) {
      AppendFixed32(lengths, static_cast<uint32_t>(length));
    } else {
      AppendFixed64(lengths, length);
    }
  }
  const uint32_t crc = Crc32c(lengths);
  const size_t at = reader.offset();
  if (size - at < 4) return 0;
  WriteMasked(bytes + at, crc);
  return ExtendCrc32c(crc, {bytes + at, size - at});
}

// Where the checksum stands in an entry; nothing when it has none.
std::optional<size_t> ChecksumOffset(std::string_view entry) {
  WireReader reader(entry);
  std::optional<size_t> at;
  for (uint32_t tag = 0; reader.ReadTag(&tag);) {
    if (tag == WireTag(Pb::kCrc32c, WireType::kFixed32)) at = reader.offset();
    if (!reader.Skip(tag)) return std::nullopt;
  }
  return at;
}

void RepairEntry(char* bytes, size_t n, std::string& data) {
  const std::optional<size_t> at = ChecksumOffset({bytes, n});
  const Result<OwnedMessage> entry = ParseMessage(Pb::Descriptor(), std::string_view(bytes, n));
  if (!at || !entry.ok()) return;
  const Result<Shape> shape = ShapeFromProto((*entry)->GetMessage(Pb::kShape));
  const auto offset = static_cast<uint64_t>((*entry)->GetInt(Pb::kOffset));
  const auto size = static_cast<uint64_t>((*entry)->GetInt(Pb::kSize));
  if (!shape.ok() || offset > data.size() || size > data.size() - offset) return;
  const auto dtype = static_cast<DType>((*entry)->GetInt(Pb::kDtype));
  WriteMasked(bytes + *at, TensorChecksum(dtype, static_cast<uint64_t>(shape->num_elements()),
                                          data.data() + offset, static_cast<size_t>(size)));
}

void RepairRows(std::string& index, std::string_view block, std::string& data) {
  Result<TableBlockReader> rows = TableBlockReader::Open(block);
  while (rows.ok() && rows->Next()) {
    const std::string_view value = rows->value();
    const bool inside = value.data() + value.size() <= block.data() + block.size();
    CHECK(inside);
    if (!rows->key().empty()) {
      RepairEntry(index.data() + (value.data() - index.data()), value.size(), data);
    }
  }
  WriteBlockChecksum(index, block);
}

}  // namespace

void RepairChecksums(std::string& index, std::string& data) {
  if (index.size() < kFooterBytes) return;
  WireReader footer(std::string_view(index).substr(index.size() - kFooterBytes));
  uint64_t ignored;
  if (!footer.ReadVarint(&ignored) || !footer.ReadVarint(&ignored)) return;
  const auto top = BlockAt(index, {footer.position(), footer.remaining()});
  if (!top) return;
  Result<TableBlockReader> blocks = TableBlockReader::Open(*top);
  for (int i = 0; i < kMostBlocks && blocks.ok() && blocks->Next(); ++i) {
    if (const auto block = BlockAt(index, blocks->value())) RepairRows(index, *block, data);
  }
  WriteBlockChecksum(index, *top);
}

ForgedBundle ForgeBundle(std::string_view input) {
  if (input.size() < 3) return {};
  const std::string_view rest = input.substr(3);
  const size_t length = static_cast<uint8_t>(input[1]) | size_t{static_cast<uint8_t>(input[2])}
                                                             << 8;
  const std::string_view part = rest.substr(0, length);
  ForgedBundle bundle;
  bundle.data = rest.substr(part.size());
  const int form = input[0] & 3;
  bundle.index = form == 1 ? IndexOfRows(part) : form == 2 ? IndexOfBlock(part) : std::string(part);
  if (form != 0) RepairChecksums(bundle.index, bundle.data);
  return bundle;
}

}  // namespace thalweg
