// SPDX-License-Identifier: Apache-2.0
// Fuzzer of the checkpoint reader, over files in memory with right checksums around whatever the
// input says (test_forged_bundle.h).
#include "thalweg/base/check.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/test_forged_bundle.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

void ReadAll(std::string_view index, std::string_view data, Allocator& allocator) {
  // Every data file has the same bytes.
  MemoryFileSystem fs(
      [&](const std::string& path) { return path == BundleIndexPath("c") ? index : data; });
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
  static const AllocatorPtr allocator = MakeCpuAllocator();
  const ForgedBundle bundle = ForgeBundle({reinterpret_cast<const char*>(input), size});
  ReadAll(bundle.index, bundle.data, *allocator);
  return 0;
}
