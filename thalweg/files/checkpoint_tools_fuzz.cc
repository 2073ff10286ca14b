// SPDX-License-Identifier: Apache-2.0
// Fuzzer of what looks into checkpoints, over files in memory with right checksums around whatever
// the input says (test_forged_bundle.h). What the audit calls whole must be read; what is read must
// equal itself and be shown as text that is JSON.
#include "thalweg/base/check.h"
#include "thalweg/files/checkpoint_audit.h"
#include "thalweg/files/checkpoint_difference.h"
#include "thalweg/files/checkpoint_listing.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/test_forged_bundle.h"
#include "thalweg/io/test_memory_files.h"

namespace thalweg {
namespace {

class ForgedFiles {
 public:
  explicit ForgedFiles(std::string_view input) : bundle_(ForgeBundle(input)) {}
  // Every data file has the same bytes.
  MemoryFileSystem Open() const {
    return MemoryFileSystem([this](const std::string& path) {
      return std::string_view(path == BundleIndexPath("c") ? bundle_.index : bundle_.data);
    });
  }

 private:
  const ForgedBundle bundle_;
};

void CheckTold(const Status& status) { CHECK(status.ok() || !status.message().empty()); }

// Whether the audit finds nothing.
bool IsWhole(const ForgedFiles& files) {
  MemoryFileSystem fs = files.Open();
  const Result<Audit> audit = AuditCheckpoint(fs, "c");
  CheckTold(audit.status());
  if (!audit.ok()) return false;
  CHECK(audit->damages.size() == std::min(audit->num_damages, Audit::kMostListed));
  CHECK(!AuditJson(*audit).empty());
  return audit->num_damages == 0;
}

}  // namespace
}  // namespace thalweg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace thalweg;
  const ForgedFiles files({reinterpret_cast<const char*>(input), size});
  const bool is_whole = IsWhole(files);
  MemoryFileSystem fs = files.Open();
  const Result<std::unique_ptr<CheckpointReader>> reader = CheckpointReader::Open(fs, "c");
  CheckTold(reader.status());
  if (!reader.ok()) {
    CHECK(!is_whole || reader.status().code() != Code::kDataLoss);
    return 0;
  }
  CHECK(!ListCheckpoint(**reader, "c").empty());
  bool all_read = true;
  for (const CheckpointReader::Entry& tensor : (*reader)->tensors()) {
    const Result<std::string> shown = ShowTensor(**reader, tensor.name, 10);
    CheckTold(shown.status());
    CHECK(!is_whole || shown.status().code() != Code::kDataLoss);
    all_read &= shown.ok();
  }
  MemoryFileSystem again = files.Open();
  const Result<CheckpointDifference> difference = CompareCheckpoints(again, "c", "c");
  CheckTold(difference.status());
  if (difference.ok()) {
    CHECK(all_read && difference->same());
    CHECK(!DifferenceJson(*difference).empty());
  }
  return 0;
}
