// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <complex>

namespace thalweg::compute {
namespace {

// %.6g (%.15g for double) when that reads back as the same number, else three (two) digits more.
template <class T>
void AppendFloating(std::string& out, T value) {
  if (value != value) {
    out += "nan";
    return;
  }
  char text[40];
  for (const int digits : sizeof(T) == 4 ? std::array{6, 9} : std::array{15, 17}) {
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    T back = 0;
    std::from_chars(text, end, back);
    if (back == value || digits == 9 || digits == 17) {
      out.append(text, end);
      return;
    }
  }
}

// As in a C literal; bytes beyond ASCII as they are.
void AppendEscaped(std::string& out, const std::string& text) {
  constexpr std::string_view kPlain = "\n\r\t\"'\\", kLetters = "nrt\"'\\";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const size_t found = kPlain.find(c); found != std::string_view::npos) {
      out += {'\\', kLetters[found]};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
              static_cast<char>('0' + (byte & 7))};
    } else {
      out.push_back(c);
    }
  }
}

template <class T>
void AppendElement(std::string& out, const T& value, bool quoted) {
  if constexpr (std::is_same_v<T, bool>) {
    out.push_back(value ? '1' : '0');
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    AppendFloating(out, static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendFloating(out, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (quoted) out.push_back('"');
    AppendEscaped(out, value);
    if (quoted) out.push_back('"');
  } else if constexpr (std::is_integral_v<T>) {
    AppendPart(out, value);
  } else {
    out.push_back('(');
    AppendFloating(out, value.real());
    out.push_back(',');
    AppendFloating(out, value.imag());
    out.push_back(')');
  }
}

// Element i; '?' of a type that has no text.
void AppendElementOf(std::string& out, const Tensor& tensor, int64_t i, bool quoted) {
  bool known = false;
  ForEachType<decltype(JoinTypes(PodTypes{}, Types<std::string>{}))>([&]<class T>() {
    if (kDTypeOf<T> != tensor.dtype()) return;
    known = true;
    AppendElement(out, tensor.data<T>()[i], quoted);
  });
  if (!known) out.push_back('?');
}

// The text, which asks before it becomes longer.
class Text {
 public:
  Text(const Tensor& tensor, std::string& out, const MayGrowFn& may_grow)
      : tensor_(tensor), out_(out), may_grow_(may_grow) {}
  const Status& status() const { return status_; }
  // False: that is all.
  bool Element(int64_t i, bool quoted) {
    constexpr size_t kBytesBetween = 1 << 16;
    // A byte of text may become four, a number takes less than a hundred.
    const size_t most =
        tensor_.dtype() == DType::kString ? 4 * tensor_.data<std::string>()[i].size() + 2 : 100;
    if (out_.size() + most > asked_) {
      asked_ = out_.size() + most + kBytesBetween;
      status_ = may_grow_(asked_);
    }
    if (status_.ok()) AppendElementOf(out_, tensor_, i, quoted);
    return status_.ok();
  }

 private:
  const Tensor& tensor_;
  std::string& out_;
  const MayGrowFn& may_grow_;
  size_t asked_ = 0;
  Status status_;
};

struct First {
  Text& text;
  std::string& out;
  const Shape shape;
  const int64_t limit;
  int64_t next = 0;

  void Dimension(int d) {
    if (next >= limit) return;
    const int64_t size = shape.dim(d);
    const bool is_last = d == shape.rank() - 1;
    for (int64_t i = 0; i < size && next < limit && text.status().ok(); ++i) {
      if (is_last) {
        if (i > 0) out.push_back(' ');
        if (!text.Element(next++, false)) return;
        if (i + 1 < size && next >= limit && d != 0) out += "...";
      } else {
        out.push_back('[');
        Dimension(d + 1);
        out.push_back(']');
      }
    }
  }
};

struct Ends {
  Text& text;
  std::string& out;
  const Shape shape;
  const int64_t ends;

  void Spacing(int d) {
    if (d == shape.rank() - 1) {
      out.push_back(' ');
      return;
    }
    out.append(static_cast<size_t>(shape.rank() - d) - 1, '\n');
    out.append(static_cast<size_t>(d) + 1, ' ');
  }
  void Dimension(int d, int64_t first, int64_t elements) {
    if (d == shape.rank()) {
      text.Element(first, true);
      return;
    }
    const int64_t size = shape.dim(d), each = size == 0 ? 0 : elements / size;
    out.push_back('[');
    for (int64_t i = 0; i < std::min(ends, size) && text.status().ok(); ++i) {
      if (i > 0) Spacing(d);
      Dimension(d + 1, first + i * each, each);
    }
    if (size / 2 > ends || size > 2 * ends) {
      Spacing(d);
      out += "...";
    }
    for (int64_t i = std::max(ends, size - ends); i < size && text.status().ok(); ++i) {
      Spacing(d);
      Dimension(d + 1, first + i * each, each);
    }
    out.push_back(']');
  }
};

int64_t Limited(const Tensor& tensor, int64_t limit) {
  const int64_t n = tensor.num_elements();
  return limit < 0 ? n : std::min(limit, n);
}

}  // namespace

Status SummarizeFirst(const Tensor& tensor, int64_t limit, std::string& out,
                      const MayGrowFn& may_grow) {
  Text text(tensor, out, may_grow);
  First first{text, out, tensor.shape(), Limited(tensor, limit)};
  if (first.shape.rank() > 0) {
    first.Dimension(0);
  } else if (first.limit > 0) {
    text.Element(0, false);
  }
  if (tensor.num_elements() > first.limit) out += "...";
  return text.status();
}

Status SummarizeEnds(const Tensor& tensor, int64_t limit, std::string& out,
                     const MayGrowFn& may_grow) {
  Text text(tensor, out, may_grow);
  Ends{text, out, tensor.shape(), Limited(tensor, limit)}.Dimension(0, 0, tensor.num_elements());
  return text.status();
}

}  // namespace thalweg::compute
