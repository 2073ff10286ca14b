// SPDX-License-Identifier: Apache-2.0
// PackRecording: a recording (RunMetadata) as columns, with some 8 bytes for a node where it has 60
// to 300, and gzip's share of that. PackedRecording: such bytes, read again, which gives the same
// recording, byte by byte.
//
//   const std::string packed = PackRecording(recording);
//   if (IsPackedRecording(packed)) {
//     ASSIGN_OR_RETURN(const PackedRecording same, PackedRecording::Open(packed));
//     ASSIGN_OR_RETURN(const std::string bytes, same.Unpack());  // or Visit: part by part
//   }
//
// After the magic stand two numbers (bytes of the recording, nodes), then lengths with bytes each:
// what follows what; what is no node, as it is; texts, each once; shapes of nodes (record_shape.h);
// of each node its name and its shape; a column of values for each path of fields. Numbers are
// varints, of values what they differ from their guess, in zigzag; of texts their number. So all
// that is in a recording is kept: fields that nobody knows, what is cut off, and numbers that are
// longer than they need be.
// Ownership: a PackedRecording points into the bytes that it was opened with.
// Threads: any; no state.
// Errors: DataLoss for what is damaged; a recording that would have more than kMostUnpacked bytes
// is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/trace/record_shape.h"

namespace thalweg {

// The most that `thalweg trace record` keeps; few bytes may say that they are more.
inline constexpr uint64_t kMostUnpacked = uint64_t{1} << 30;

std::string PackRecording(std::string_view recording);

bool IsPackedRecording(std::string_view bytes);

class PackedRecording {
 public:
  enum class Part : uint8_t {
    kRest,      // fields of the recording beside those of kFrame
    kFrame,     // what is around devices
    kDevice,    // a device begins, with its tag and its length
    kInDevice,  // its fields beside nodes
    kNode,      // a field with a node
  };
  using Take = std::function<void(Part, std::string_view)>;

  static Result<PackedRecording> Open(std::string_view packed);
  uint64_t size() const { return size_; }
  uint64_t nodes() const { return nodes_; }
  // Of a recording in its order: each node is a part, and the parts are the recording.
  Status Visit(const Take& take) const;
  Result<std::string> Unpack() const;

 private:
  uint64_t size_ = 0, nodes_ = 0;
  std::string_view items_, rest_, names_, shape_numbers_;
  std::vector<std::string_view> texts_, columns_;
  RecordShapes shapes_;
};

}  // namespace thalweg
