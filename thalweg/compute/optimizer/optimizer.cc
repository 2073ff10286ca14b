// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/optimizer/kernels.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32768;  // elements of a shard
// Rows that are asked for before they are needed: they lie anywhere in a large variable, and
// several waits for memory at once take no longer than one.
constexpr int64_t kAhead = 8;
constexpr int64_t kMostAheadBytes = 512;  // of a row; longer ones are read ahead by the processor

template <class T>
const UpdateKernels<T>& KernelsOf(const IsaTable& isa) {
  if constexpr (std::is_same_v<T, float>) {
    return *isa.update_float;
  } else {
    return *isa.update_double;
  }
}

// One update with its types resolved.
template <class T>
class Runner {
 public:
  Runner(const IsaTable& isa, const StorageType& type, const Update& update)
      : fn_(KernelsOf<T>(isa).rule[static_cast<int>(update.rule)]),
        half_(*isa.half),
        type_(type),
        update_(update) {
    for (int i = 0; i < kUpdateScalars; ++i) scalars_[i] = static_cast<T>(update.scalars.value[i]);
  }

  // n elements of var and slots from `target` on, of grad from `source` on.
  void Run(int64_t target, int64_t source, int64_t n) const {
    if (type_.widen != nullptr) return RunTiles(target, source, n);
    T* slot[3];
    for (int k = 0; k < 3; ++k) {
      slot[k] = update_.slots[k] != nullptr ? static_cast<T*>(update_.slots[k]) + target : nullptr;
    }
    fn_(n, static_cast<T*>(update_.var) + target, slot[0], slot[1], slot[2],
        static_cast<const T*>(update_.grad) + source, scalars_);
  }

  // n elements of var and slots will be needed.
  void AskFor(int64_t target, int64_t n) const {
    const int64_t size = n * type_.size;
    for (void* base : {update_.var, update_.slots[0], update_.slots[1], update_.slots[2]}) {
      if (base == nullptr) continue;
      const char* first = Place(base, target);
      for (int64_t i = 0; i < size; i += 64) __builtin_prefetch(first + i, 1);
      __builtin_prefetch(first + size - 1, 1);
    }
  }

 private:
  void RunTiles(int64_t target, int64_t source, int64_t n) const {
    alignas(64) T tile[5][kEwTile];  // var, slots, grad
    void* stored[4] = {update_.var, update_.slots[0], update_.slots[1], update_.slots[2]};
    for (int64_t i = 0; i < n; i += kEwTile) {
      const int64_t count = std::min(kEwTile, n - i);
      for (int k = 0; k < 4; ++k) {
        if (stored[k] != nullptr) type_.widen(half_, tile[k], Place(stored[k], target + i), count);
      }
      type_.widen(half_, tile[4],
                  static_cast<const char*>(update_.grad) + (source + i) * type_.size, count);
      fn_(count, tile[0], tile[1], tile[2], tile[3], tile[4], scalars_);
      for (int k = 0; k < 4; ++k) {
        if (stored[k] != nullptr) type_.narrow(half_, Place(stored[k], target + i), tile[k], count);
      }
    }
  }
  char* Place(void* base, int64_t element) const {
    return static_cast<char*>(base) + element * type_.size;
  }

  void (*fn_)(int64_t, T*, T*, T*, T*, const T*, const T*);
  const HalfKernels& half_;
  const StorageType& type_;
  const Update& update_;
  T scalars_[kUpdateScalars];
};

template <class T>
Status RunDense(Work& work, const StorageType& type, int64_t n, const Update& update) {
  const Runner<T> runner(work.isa(), type, update);
  return ForBlocks(work, n, kGrain,
                   [&](int64_t begin, int64_t end) { runner.Run(begin, begin, end - begin); });
}

// Rows may repeat, so they are taken in order; wide rows are cut into columns instead.
template <class T>
Status RunRows(Work& work, const StorageType& type, const UpdateRows& rows, const Update& update) {
  const Runner<T> runner(work.isa(), type, update);
  const int64_t grain = std::max<int64_t>(64, kGrain / std::max<int64_t>(1, rows.count));
  return ForBlocks(work, rows.inner, grain, [&](int64_t begin, int64_t end) {
    const bool ahead = (end - begin) * type.size <= kMostAheadBytes;
    for (int64_t i = 0; i < rows.count; ++i) {
      if (ahead && i + kAhead < rows.count) {
        runner.AskFor(rows.indices[i + kAhead] * rows.inner + begin, end - begin);
      }
      runner.Run(rows.indices[i] * rows.inner + begin, i * rows.inner + begin, end - begin);
    }
  });
}

Status CheckUpdate(DType dtype, const StorageType& type, UpdateRule rule) {
  if (static_cast<int>(rule) >= kUpdateRules) {
    return Unimplemented("no vectorized update of rule ", static_cast<int>(rule));
  }
  if (type.ok && (type.compute == kEwFloat || type.compute == kEwDouble)) return OkStatus();
  return Unimplemented("optimizer update of elements of type ", dtype);
}

}  // namespace

UpdateScalars AdamScalars(DType dtype, double lr, double beta1, double beta2, double epsilon,
                          double beta1_power, double beta2_power) {
  double alpha = lr * std::sqrt(1 - beta2_power) / (1 - beta1_power);
  if (dtype != DType::kDouble) {
    alpha = static_cast<float>(lr) * std::sqrt(1.0f - static_cast<float>(beta2_power)) /
            (1.0f - static_cast<float>(beta1_power));
  }
  return {{alpha, beta1, beta2, epsilon}};
}

Status RunUpdate(Work& work, DType dtype, int64_t n, const Update& update) {
  const StorageType type = StorageTypeOf(dtype);
  RETURN_IF_ERROR(CheckUpdate(dtype, type, update.rule));
  return type.compute == kEwFloat ? RunDense<float>(work, type, n, update)
                                  : RunDense<double>(work, type, n, update);
}

Status RunSparseUpdate(Work& work, DType dtype, const UpdateRows& rows, const Update& update) {
  const StorageType type = StorageTypeOf(dtype);
  RETURN_IF_ERROR(CheckUpdate(dtype, type, update.rule));
  return type.compute == kEwFloat ? RunRows<float>(work, type, rows, update)
                                  : RunRows<double>(work, type, rows, update);
}

}  // namespace thalweg::compute
