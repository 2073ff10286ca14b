// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the checkpoint reader, over files in memory with right checksums around whatever the
// input says (test_forged_bundle.h).
#include <algorithm>

#include "thalweg/base/check.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/test_forged_bundle.h"

namespace thalweg {
namespace {

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

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t limit);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* input, size_t size, size_t limit,
                                          unsigned int seed) {
  std::minstd_rand random(seed);
  std::string changed(reinterpret_cast<const char*>(input), size);
  // Mistakes of a reader often want two numbers that fit each other.
  for (int i = seed % 4 == 0 ? 2 : 1; i > 0; --i) {
    changed = thalweg::ChangeForgedBundle(changed, random, LLVMFuzzerMutate);
  }
  size = std::min(changed.size(), limit);
  std::copy_n(changed.data(), size, input);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace thalweg;
  static const AllocatorPtr allocator = MakeCpuAllocator();
  const ForgedBundle bundle = ForgeBundle({reinterpret_cast<const char*>(input), size});
  ReadAll(bundle.index, bundle.data, *allocator);
  return 0;
}
