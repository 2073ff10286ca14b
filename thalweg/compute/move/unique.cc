// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/unique.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "thalweg/compute/blocks_in_order.h"

namespace thalweg::compute {
namespace {

// Bits of a floating format: where its exponent and fraction lie. The two zeros are one value, but
// (as in TensorFlow, whose 16-bit types are hashed by their bits) not where kOneZero is false.
template <class U, U kMagnitude, U kInfinity, bool kOneZero = true>
struct FloatBits {
  using Element = U;
  static bool IsNan(U bits) { return (bits & kMagnitude) > kInfinity; }
  static U Canonical(U bits) { return kOneZero && (bits & kMagnitude) == 0 ? U{0} : bits; }
};
template <class U>
struct PlainBits {
  using Element = U;
  static bool IsNan(U) { return false; }
  static U Canonical(U bits) { return bits; }
};
struct Text {
  using Element = std::string;
  static bool IsNan(const std::string&) { return false; }
  static const std::string& Canonical(const std::string& text) { return text; }
};

// Calls f with the description of the type's elements.
template <class F>
Status WithKey(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat:
      return f.template operator()<FloatBits<uint32_t, 0x7fffffffu, 0x7f800000u>>();
    case DType::kDouble:
      return f.template operator()<FloatBits<uint64_t, 0x7fffffffffffffffu, 0x7ff0000000000000u>>();
    case DType::kHalf:
      return f
          .template operator()<FloatBits<uint16_t, uint16_t{0x7fff}, uint16_t{0x7c00}, false>>();
    case DType::kBfloat16:
      return f
          .template operator()<FloatBits<uint16_t, uint16_t{0x7fff}, uint16_t{0x7f80}, false>>();
    case DType::kBool:
    case DType::kInt8:
    case DType::kUint8:
      return f.template operator()<PlainBits<uint8_t>>();
    case DType::kInt16:
    case DType::kUint16:
      return f.template operator()<PlainBits<uint16_t>>();
    case DType::kInt32:
    case DType::kUint32:
      return f.template operator()<PlainBits<uint32_t>>();
    case DType::kInt64:
    case DType::kUint64:
      return f.template operator()<PlainBits<uint64_t>>();
    case DType::kString:
      return f.template operator()<Text>();
    default:
      return Unimplemented("elements of type ", dtype, " cannot be looked up by value");
  }
}

uint64_t Mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}
uint64_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }
template <class U>
uint64_t HashOf(U bits) {
  return static_cast<uint64_t>(bits);
}

// A set of row numbers in open addressing; at most half full.
template <class Key>
class RowSet {
 public:
  using E = typename Key::Element;
  static int64_t SlotsFor(int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 8)) * 2));
  }

  RowSet(Work& work, int64_t n, int64_t width)
      : width_(width), mask_(static_cast<uint64_t>(SlotsFor(n)) - 1), slots_(work, SlotsFor(n)) {}
  // Before all else.
  Status Clear(Work& work) {
    if (!slots_) return OutOfScratch();
    return ForBlocks(work, static_cast<int64_t>(mask_) + 1, kSlotsPerBlock,
                     [&](int64_t begin, int64_t end) {
                       std::fill(slots_.get() + begin, slots_.get() + end, int64_t{-1});
                     });
  }

  // The value stored with a row equal to `row`; -1 when there is none: then `value` is stored, if
  // it is not negative. Rows are compared with those that `row_of` gives for stored values.
  template <class RowOf>
  int64_t FindOrInsert(const E* row, int64_t value, const RowOf& row_of) {
    uint64_t hash = 0;
    for (int64_t i = 0; i < width_; ++i) {
      if (Key::IsNan(row[i])) return -1;
      hash = Mix(hash + HashOf(Key::Canonical(row[i])));
    }
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      const int64_t stored = slots_[static_cast<int64_t>(at)];
      if (stored < 0) {
        if (value >= 0) slots_[static_cast<int64_t>(at)] = value;
        return -1;
      }
      if (Equal(row, row_of(stored))) return stored;
    }
  }

 private:
  static constexpr int64_t kSlotsPerBlock = 1 << 16;

  bool Equal(const E* a, const E* b) const {
    for (int64_t i = 0; i < width_; ++i) {
      if (Key::Canonical(a[i]) != Key::Canonical(b[i])) return false;
    }
    return true;
  }

  const int64_t width_;
  const uint64_t mask_;
  Scratch<int64_t> slots_;
};

constexpr int64_t kCheckCancelled = 1 << 16;  // elements between two looks at the cancel flag

template <class Key>
Result<int64_t> Unique(Work& work, int64_t n, int64_t width, const typename Key::Element* rows,
                       int64_t* first, int64_t* index) {
  RowSet<Key> seen(work, n, width);
  RETURN_IF_ERROR(seen.Clear(work));
  int64_t distinct = 0;
  const auto row_of = [&](int64_t number) { return rows + first[number] * width; };
  const int64_t rows_per_look = std::max<int64_t>(1, kCheckCancelled / std::max<int64_t>(1, width));
  RETURN_IF_ERROR(ForBlocksInOrder(work, n, rows_per_look, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t same = seen.FindOrInsert(rows + i * width, distinct, row_of);
      index[i] = same < 0 ? distinct : same;
      if (same < 0) first[distinct++] = i;
    }
  }));
  return distinct;
}

template <class Key>
Result<int64_t> Absent(Work& work, int64_t n, const typename Key::Element* x, int64_t m,
                       const typename Key::Element* y, int64_t* kept) {
  RowSet<Key> known(work, m, 1);
  RETURN_IF_ERROR(known.Clear(work));
  const auto row_of = [&](int64_t i) { return y + i; };
  RETURN_IF_ERROR(ForBlocksInOrder(work, m, kCheckCancelled, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) known.FindOrInsert(y + i, i, row_of);
  }));
  int64_t count = 0;
  RETURN_IF_ERROR(ForBlocksInOrder(work, n, kCheckCancelled, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (known.FindOrInsert(x + i, -1, row_of) < 0) kept[count++] = i;
    }
  }));
  return count;
}

}  // namespace

Result<int64_t> UniqueRows(Work& work, DType dtype, int64_t n, int64_t width, const void* rows,
                           int64_t* first, int64_t* index) {
  int64_t distinct = 0;
  RETURN_IF_ERROR(WithKey(dtype, [&]<class Key>() -> Status {
    ASSIGN_OR_RETURN(
        distinct,
        Unique<Key>(work, n, width, static_cast<const typename Key::Element*>(rows), first, index));
    return OkStatus();
  }));
  return distinct;
}

Result<int64_t> AbsentElements(Work& work, DType dtype, int64_t n, const void* x, int64_t m,
                               const void* y, int64_t* kept) {
  int64_t count = 0;
  RETURN_IF_ERROR(WithKey(dtype, [&]<class Key>() -> Status {
    using E = typename Key::Element;
    ASSIGN_OR_RETURN(
        count, Absent<Key>(work, n, static_cast<const E*>(x), m, static_cast<const E*>(y), kept));
    return OkStatus();
  }));
  return count;
}

}  // namespace thalweg::compute
