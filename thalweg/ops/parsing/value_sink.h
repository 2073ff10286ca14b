// SPDX-License-Identifier: Apache-2.0
// ValueSink: an output (of float, int64 or string) that values of features are read into, from
// several shards at once. Strings are asked for at the memory limit before they are made.
//
//   ValueSink sink(ctx.allocator(), *out);
//   RETURN_IF_ERROR(sink.Put(list, at));             // from element `at` on
//   RETURN_IF_ERROR(sink.Fill(default_value, at, n));
//
// Ownership: output and allocator outlive it.
// Threads: any shard, each for elements of its own.
// Errors: InvalidArgument for a number of more than ten bytes, ResourceExhausted for strings
// without room.
#pragma once

#include <algorithm>

#include "thalweg/io/example_wire.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {

class ValueSink {
 public:
  ValueSink(Allocator& allocator, Tensor& out) : out_(out), meter_(allocator, out) {}
  DType dtype() const { return out_.dtype(); }

  // The list is of this type, and its values, which were counted, fit.
  Status Put(const EncodedList& list, int64_t at) {
    bool read = true;
    switch (dtype()) {
      case DType::kFloat:
        read = ReadValues(list, out_.mutable_data<float>() + at);
        break;
      case DType::kInt64:
        read = ReadValues(list, out_.mutable_data<int64_t>() + at);
        break;
      default:
        return PutTexts(list, out_.mutable_data<std::string>() + at);
    }
    return read ? OkStatus() : InvalidArgument("a number of more than ten bytes");
  }

  // n elements: those of `value`, or its only one n times.
  Status Fill(const Tensor& value, int64_t at, int64_t n) {
    switch (dtype()) {
      case DType::kFloat:
        return FillOf<float>(value, at, n);
      case DType::kInt64:
        return FillOf<int64_t>(value, at, n);
      default:
        for (const std::string& text : value.flat<std::string>()) {
          const int64_t times = value.num_elements() == 1 ? n : 1;
          for (int64_t i = 0; i < times; ++i) {
            if (!meter_.Take(text.size())) return meter_.status();
          }
        }
        return FillOf<std::string>(value, at, n);
    }
  }

  // n elements of zero, or empty strings, which fresh ones are.
  void Clear(int64_t at, int64_t n) {
    if (dtype() == DType::kString) return;
    const size_t size = DTypeSize(dtype());
    std::fill_n(static_cast<char*>(out_.mutable_raw_data()) + static_cast<size_t>(at) * size,
                static_cast<size_t>(n) * size, '\0');
  }

 private:
  Status PutTexts(const EncodedList& list, std::string* to) {
    BytesReader reader(list);
    std::string_view value;
    while (reader.Next(&value)) {
      if (!meter_.Take(value.size())) return meter_.status();
      (to++)->assign(value);
    }
    return OkStatus();
  }
  template <class T>
  Status FillOf(const Tensor& value, int64_t at, int64_t n) {
    T* const to = out_.mutable_data<T>() + at;
    if (value.num_elements() == 1) {
      std::fill_n(to, n, value.scalar<T>());
    } else {
      std::copy_n(value.data<T>(), n, to);
    }
    return OkStatus();
  }

  Tensor& out_;
  TextMeter meter_;
};

}  // namespace thalweg
