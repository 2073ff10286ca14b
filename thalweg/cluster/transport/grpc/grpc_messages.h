// SPDX-License-Identifier: Apache-2.0
// Messages as gRPC sends and receives them, for the component alone.
//
//   Messages request(bytes_to_send, /*in_parts=*/true);
//   bool last = false;
//   while (!last) Write(request.Next(&last));
//
// A message of gRPC has less than 2 GiB. What is longer goes as several messages of one call, where
// both sides are Thalweg's; a head says how many bytes they have in all. Bytes travel as slices, so
// that tensors are not copied.
// Ownership: the bytes are released when the last slice has gone, on any thread.
// Threads: one at a time.
// Errors: Add says false, BytesOfAll 0 for what cannot be read; whoever asks ends the call with
// INTERNAL.
#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "thalweg/cluster/transport/grpc/grpc_api.h"

namespace thalweg::grpc_component {

constexpr const char* kTakesParts = "thalweg-takes-parts";  // says a side that knows parts
constexpr const char* kBytesOfAll = "thalweg-bytes";        // of the parts that come
constexpr const char* kToken = "thalweg-answer";            // of an answer to come for (Incoming)
constexpr size_t kPartBytes = size_t{64} << 20;
constexpr uint64_t kMostWhole = INT_MAX;  // more in one message ends the process

using Heads = std::multimap<grpc::string_ref, grpc::string_ref>;

// 0 where the other side sends one message.
inline uint64_t BytesOfAll(const Heads& heads) {
  uint64_t bytes = 0;
  if (const auto found = heads.find(kBytesOfAll); found != heads.end()) {
    std::from_chars(found->second.begin(), found->second.end(), bytes);
  }
  return bytes;
}

inline uint64_t LimitOr(int64_t limit, uint64_t otherwise) {
  return limit > 0 ? static_cast<uint64_t>(limit) : otherwise;
}

// What a process takes in parts where it was told no limit.
inline uint64_t HalfOfMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

// The slices of what has come, as pieces; both live as long as this.
class Pieces {
 public:
  // False where the message cannot be unpacked.
  bool Add(const grpc::ByteBuffer& message) {
    ++messages_;
    if (!message.Valid()) return true;  // an empty one
    std::vector<grpc::Slice>& slices = slices_.emplace_back();
    if (!message.Dump(&slices).ok()) return false;
    for (const grpc::Slice& slice : slices) {
      pieces_.push_back({reinterpret_cast<const char*>(slice.begin()), slice.size()});
      bytes_ += slice.size();
    }
    return true;
  }
  const ThalwegGrpcPiece* data() const { return pieces_.data(); }
  size_t size() const { return pieces_.size(); }
  uint64_t bytes() const { return bytes_; }
  int messages() const { return messages_; }

 private:
  std::deque<std::vector<grpc::Slice>> slices_;  // short ones hold their bytes: none may move
  std::vector<ThalwegGrpcPiece> pieces_;
  uint64_t bytes_ = 0;
  int messages_ = 0;
};

inline uint64_t SizeOf(const ThalwegGrpcBytes& bytes) {
  uint64_t size = 0;
  for (size_t i = 0; i < bytes.count; ++i) size += bytes.pieces[i].size;
  return size;
}

// What a side sends: one message, or as many parts as it takes. Takes the bytes over.
class Messages {
 public:
  Messages() = default;
  Messages(const ThalwegGrpcBytes& bytes, bool in_parts) {
    const size_t most = in_parts ? kPartBytes : SIZE_MAX;
    const std::vector<ThalwegGrpcPiece> cut = Cut(bytes, most);
    Release* release = nullptr;
    if (bytes.release != nullptr && !cut.empty()) {
      release = new Release{{cut.size()}, bytes.release, bytes.owner};
    } else if (bytes.release != nullptr) {
      bytes.release(bytes.owner);
    }
    std::vector<grpc::Slice> slices;
    size_t size = 0;
    for (const ThalwegGrpcPiece& piece : cut) {
      if (size > most - piece.size) {
        all_.emplace_back(slices.data(), slices.size());
        slices.clear();
        size = 0;
      }
      size += piece.size;
      if (release == nullptr) {
        slices.emplace_back(piece.data, piece.size);
      } else {
        slices.emplace_back(const_cast<char*>(piece.data), piece.size, &Release::Drop, release);
      }
    }
    all_.emplace_back(slices.data(), slices.size());
  }
  bool empty() const { return all_.empty(); }
  // The next one, which lives until the call after this, and whether it is the last.
  const grpc::ByteBuffer* Next(bool* last) {
    going_.Swap(&all_.front());
    all_.pop_front();
    *last = all_.empty();
    return &going_;
  }

 private:
  // Calls the release of some bytes when its last slice has gone.
  struct Release {
    std::atomic<size_t> left;
    void (*release)(void*);
    void* owner;
    static void Drop(void* self) {
      auto* r = static_cast<Release*>(self);
      if (r->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      r->release(r->owner);
      delete r;
    }
  };

  // Pieces of at most `most` bytes.
  static std::vector<ThalwegGrpcPiece> Cut(const ThalwegGrpcBytes& bytes, size_t most) {
    std::vector<ThalwegGrpcPiece> cut;
    for (size_t i = 0; i < bytes.count; ++i) {
      ThalwegGrpcPiece rest = bytes.pieces[i];
      do {
        cut.push_back({rest.data, std::min(rest.size, most)});
        rest.data += cut.back().size;
        rest.size -= cut.back().size;
      } while (rest.size > 0);
    }
    return cut;
  }

  std::deque<grpc::ByteBuffer> all_;
  grpc::ByteBuffer going_;
};

}  // namespace thalweg::grpc_component
