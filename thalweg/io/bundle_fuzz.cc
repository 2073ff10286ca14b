// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the checkpoint reader, over files in memory. The first byte, modulo 3, says what
// follows: 0, an index as it lies on the disk; 1, the rows of one, each a key and a value with a
// length byte before it, which are written with right checksums, the tensors' too, so that damage
// gets past them; 2, the one block of an index, written likewise. The next two bytes give the
// length of that part; the rest is the data.
#include <algorithm>
#include <map>

#include "thalweg/base/check.h"
#include "thalweg/base/crc32c.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/table.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

namespace Pb = pb::BundleEntryProto;

class MemoryFile : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
  Result<size_t> Read(uint64_t offset, void* buffer, size_t n) const override {
    if (offset >= bytes_.size()) return size_t{0};
    return bytes_.copy(static_cast<char*>(buffer), n, offset);
  }
  Result<uint64_t> Size() const override { return uint64_t{bytes_.size()}; }

 private:
  const std::string_view bytes_;
};

class StringFile : public WritableFile {
 public:
  const std::string& path() const override { return path_; }
  Status Append(std::string_view data) override {
    bytes.append(data);
    return OkStatus();
  }
  Status Sync() override { return OkStatus(); }
  Status Close() override { return OkStatus(); }
  std::string bytes;

 private:
  const std::string path_ = "index";
};

// Every data file has the same bytes.
class MemoryFileSystem : public FileSystem {
 public:
  MemoryFileSystem(std::string_view index, std::string_view data) : index_(index), data_(data) {}
  Result<std::unique_ptr<RandomAccessFile>> OpenForReading(const std::string& path) override {
    if (opened_++ == 100) return NotFound(path);
    const bool is_index = path == BundleIndexPath("c");
    return std::unique_ptr<RandomAccessFile>(new MemoryFile(is_index ? index_ : data_));
  }
  Result<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path) override {
    return Unimplemented(path);
  }
  Result<std::unique_ptr<WritableFile>> OpenForAppending(const std::string& path) override {
    return Unimplemented(path);
  }
  Result<std::unique_ptr<WritableFile>> CreateTemporary(const std::string& prefix) override {
    return Unimplemented(prefix);
  }
  Result<FileInfo> Stat(const std::string& path) override { return Unimplemented(path); }
  Result<std::vector<std::string>> List(const std::string& path) override {
    return Unimplemented(path);
  }
  Status RemoveFile(const std::string& path) override { return Unimplemented(path); }
  Status RemoveDirectory(const std::string& path) override { return Unimplemented(path); }
  Status MakeDirectories(const std::string& path) override { return Unimplemented(path); }
  Status Rename(const std::string& from, const std::string&) override {
    return Unimplemented(from);
  }

 private:
  const std::string_view index_, data_;
  int opened_ = 0;
};

// The checksum that an entry of these bytes should have. The one of string lengths, which stands
// among the bytes, is written there.
uint32_t ChecksumOf(DType dtype, uint64_t elements, char* bytes, size_t size) {
  if (dtype != DType::kString) return MaskCrc32c(Crc32c({bytes, size}));
  WireReader reader({bytes, size});
  std::string lengths;
  for (uint64_t i = 0, length; i < elements && reader.ReadVarint(&length); ++i) {
    AppendFixed32(lengths, static_cast<uint32_t>(length));
  }
  uint32_t crc = Crc32c(lengths);
  const size_t at = reader.offset();
  if (size - at < 4) return 0;
  const uint32_t masked = MaskCrc32c(crc);
  std::memcpy(bytes + at, &masked, 4);
  crc = ExtendCrc32c(crc, {bytes + at, size - at});
  return MaskCrc32c(crc);
}

std::string WithChecksum(std::string_view value, std::string& data) {
  Result<OwnedMessage> entry = ParseMessage(Pb::Descriptor(), value);
  if (!entry.ok()) return std::string(value);
  const Result<Shape> shape = ShapeFromProto((*entry)->GetMessage(Pb::kShape));
  const auto offset = static_cast<uint64_t>((*entry)->GetInt(Pb::kOffset));
  const auto size = static_cast<uint64_t>((*entry)->GetInt(Pb::kSize));
  if (!shape.ok() || offset > data.size() || size > data.size() - offset) return std::string(value);
  const auto dtype = static_cast<DType>((*entry)->GetInt(Pb::kDtype));
  (*entry)->SetUint(Pb::kCrc32c, ChecksumOf(dtype, static_cast<uint64_t>(shape->num_elements()),
                                            data.data() + offset, static_cast<size_t>(size)));
  const Result<std::string> written = Serialize(**entry);
  return written.ok() ? *written : std::string(value);
}

std::string_view TakeCounted(std::string_view& rest) {
  const size_t n = std::min<size_t>(static_cast<uint8_t>(rest[0]), rest.size() - 1);
  const std::string_view taken = rest.substr(1, n);
  rest.remove_prefix(n + 1);
  return taken;
}

std::string IndexOfRows(std::string_view rows, std::string& data) {
  std::map<std::string_view, std::string_view> sorted;
  while (!rows.empty()) {
    const std::string_view key = TakeCounted(rows);
    if (!rows.empty()) sorted[key] = TakeCounted(rows);
  }
  StringFile file;
  TableWriter writer(file);
  for (const auto& [key, value] : sorted) {
    CHECK(writer.Add(key, key.empty() ? std::string(value) : WithChecksum(value, data)).ok());
  }
  CHECK(writer.Finish().ok());
  return file.bytes;
}

// The handle (offset and size) of the block, which is appended with what belongs behind it.
std::string AppendBlock(std::string& file, std::string_view block) {
  std::string handle;
  AppendVarint(handle, file.size());
  AppendVarint(handle, block.size());
  file.append(block);
  file.push_back('\0');  // not compressed
  AppendFixed32(file, MaskCrc32c(Crc32c(std::string(block) + '\0')));
  return handle;
}

std::string IndexOfBlock(std::string_view block) {
  std::string file;
  const std::string handle = AppendBlock(file, block);
  TableBlockBuilder blocks(1);
  blocks.Add("last", handle);
  std::string footer = handle + AppendBlock(file, blocks.Finish());
  footer.resize(40, '\0');
  AppendFixed64(footer, 0xdb4775248b80fb57ull);
  return file + footer;
}

void ReadAll(std::string_view index, std::string_view data, Allocator& allocator) {
  MemoryFileSystem fs(index, data);
  Result<std::unique_ptr<BundleReader>> reader = BundleReader::Open(fs, "c");
  if (!reader.ok()) {
    CHECK(!reader.status().message().empty());
    return;
  }
  for (const std::string& name : (*reader)->Names()) {
    const BundleReader::Entry* entry = (*reader)->Find(name);
    CHECK(entry != nullptr);
    const Result<Tensor> value = (*reader)->Read(name, allocator);
    if (value.ok()) {
      CHECK(value->dtype() == entry->dtype && value->shape() == entry->shape);
    }
    TensorSlice slice;
    for (int i = 0; i < entry->shape.rank(); ++i) {
      slice.extents.push_back({entry->shape.dim(i) / 3, entry->shape.dim(i) / 2});
    }
    const Result<Tensor> part = (*reader)->ReadSlice(name, slice, allocator);
    if (value.ok()) CHECK(part.ok());
  }
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace thalweg;
  if (size < 3) return 0;
  static const AllocatorPtr allocator = MakeCpuAllocator();
  const std::string_view rest(reinterpret_cast<const char*>(input) + 3, size - 3);
  const size_t cut = std::min<size_t>(size_t{input[1]} | size_t{input[2]} << 8, rest.size());
  std::string data(rest.substr(cut));
  const std::string index =
      input[0] % 2 == 0 ? std::string(rest.substr(0, cut)) : IndexOfRows(rest.substr(0, cut), data);
  ReadAll(index, data, *allocator);
  return 0;
}
