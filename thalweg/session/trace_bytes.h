// SPDX-License-Identifier: Apache-2.0
// TraceBytes: what is written of a device, in pieces: a trace may have gigabytes, which are not
// moved as they grow, and which go piece by piece as a message is made of them.
//
//   TraceBytes bytes;
//   AppendNode({.node = "y", .op = "Add", .end_nanos = 9}, 1000, bytes.Tail());
//   std::string message;
//   bytes.MoveTo(&message);  // `bytes` has none any more
//
// Ownership: owns its bytes until they are moved.
// Threads: one.
// Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace thalweg {

class TraceBytes {
 public:
  // With its room above what glibc takes from its heap, whatever was freed before: a piece that
  // goes is the system's at once, and what is not written of one takes no memory.
  static constexpr size_t kPiece = size_t{32} << 20;

  // Where the next bytes are to be appended. `expected`: of all that comes, where it is known.
  std::string* Tail(size_t expected = 0) {
    if (pieces_.empty() || pieces_.back().size() >= kPiece) {
      // One that is not the first will be full. Some room for what goes beyond.
      const size_t room = pieces_.empty() ? std::min(expected, kPiece) : kPiece;
      pieces_.emplace_back();
      if (room > 0) pieces_.back().reserve(room + room / 64);
    }
    return &pieces_.back();
  }
  size_t size() const {
    size_t size = 0;
    for (const std::string& piece : pieces_) size += piece.size();
    return size;
  }
  void AppendTo(std::string* out) const {
    for (const std::string& piece : pieces_) out->append(piece);
  }
  void MoveTo(std::string* out) {
    for (std::string& piece : pieces_) out->append(std::exchange(piece, {}));
    pieces_.clear();
  }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace thalweg
