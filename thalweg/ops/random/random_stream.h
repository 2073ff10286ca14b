// SPDX-License-Identifier: Apache-2.0
// Where the kernels of ops/random get their Philox streams from: seeds of a node, a seed tensor,
// key and counter, the state in a variable.
// Ownership: a kernel owns its stream, which goes on from step to step.
// Threads: a Stream from any, Compute from several at once.
// Errors: InvalidArgument for a key, counter or algorithm of another form, Unimplemented for
// ThreeFry.
#pragma once

#include <memory>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/philox.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/seed_stream.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

// The stream of one node, which goes on from step to step. Any thread.
class Stream {
 public:
  Stream(uint64_t seed, uint64_t seed2) : philox_(seed, seed2) {}
  // From the attributes; seeds of 0 and 0 mean others every time.
  static Result<std::unique_ptr<Stream>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, c.Attr<int64_t>("seed2"));
    if (seed == 0 && seed2 == 0) return std::make_unique<Stream>(RandomSeed(), RandomSeed());
    return std::make_unique<Stream>(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  }
  // The stream as it is; it moves on by so many blocks.
  Philox Reserve(uint64_t blocks) {
    MutexLock lock(mutex_);
    const Philox now = philox_;
    philox_.Skip(blocks);
    return now;
  }

 private:
  Mutex mutex_;
  Philox philox_ GUARDED_BY(mutex_);
};

class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(std::unique_ptr<Stream> stream, DType output_type = DType::kInvalid)
      : stream_(std::move(stream)), output_type_(output_type) {}

 protected:
  Stream& stream() { return *stream_; }
  DType output_type() const { return output_type_; }  // of output 0, from CreateWithStream

 private:
  const std::unique_ptr<Stream> stream_;
  const DType output_type_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithStream(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::Make(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(stream), c.output_type(0)));
}

// The end of a range of integers, a scalar input called `name`.
inline Result<int64_t> LimitOf(const Tensor& limit, std::string_view name) {
  if (limit.rank() == 0) return IntAt(limit, 0);
  return InvalidArgument(name, " must be a scalar; got a tensor of shape ", limit.shape());
}

inline constexpr int64_t kPhiloxAlgorithm = 1;
inline constexpr int64_t kThreeFryAlgorithm = 2;
inline constexpr int64_t kAutoAlgorithm = 3;

inline Status CheckAlgorithm(int64_t algorithm) {
  if (algorithm == kPhiloxAlgorithm || algorithm == kAutoAlgorithm) return OkStatus();
  if (algorithm == kThreeFryAlgorithm) return Unimplemented("the ThreeFry algorithm");
  return InvalidArgument("Unsupported algorithm id: ", algorithm);
}

// Inputs key [1], counter [2 or more] (a shorter one ends in zeros) and the algorithm's number.
inline Result<Philox> StreamOfKey(const Tensor& key, const Tensor& counter,
                                  const Tensor& algorithm) {
  ASSIGN_OR_RETURN(const int64_t number, IntScalar(algorithm, "alg"));
  RETURN_IF_ERROR(CheckAlgorithm(number));
  if (key.rank() != 1 || key.num_elements() != 1) {
    return InvalidArgument("key must have shape [1], not ", key.shape());
  }
  if (counter.rank() != 1 || counter.num_elements() < 2) {
    return InvalidArgument("counter must be a vector with length at least 2; got shape: ",
                           counter.shape());
  }
  const uint64_t k = *key.data<uint64_t>();
  const uint64_t low = counter.data<uint64_t>()[0], high = counter.data<uint64_t>()[1];
  return Philox({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)},
                {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32)});
}

}  // namespace thalweg
