// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/tensor_elements.h"

#include <algorithm>
#include <cmath>

#include "thalweg/proto/utf8.h"

namespace thalweg {
namespace {

using QuantizedTypes = Types<Qint8, Quint8, Qint16, Quint16, Qint32>;
using ShownTypes =
    decltype(JoinTypes(JoinTypes(PodTypes{}, QuantizedTypes{}), Types<std::string>{}));

double NumberOf(Half value) { return static_cast<float>(value); }
double NumberOf(Bfloat16 value) { return static_cast<float>(value); }
template <class T>
double NumberOf(const T& value) {
  if constexpr (requires { value.value; }) {
    return static_cast<double>(value.value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
constexpr bool kIsNumber =
    !std::is_same_v<T, std::string> && !std::is_same_v<T, std::complex<float>> &&
    !std::is_same_v<T, std::complex<double>>;

template <class T>
void AppendJson(JsonWriter& json, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (IsUtf8(value)) {
      json.Text(value);
    } else {
      json.BeginObject().Key("b64").Text(Base64(value)).EndObject();
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    json.Bool(value);
  } else if constexpr (!kIsNumber<T>) {
    json.BeginList().Number(value.real()).Number(value.imag()).EndList();
  } else if constexpr (std::is_arithmetic_v<T>) {
    json.Number(value);
  } else {
    json.Number(static_cast<float>(NumberOf(value)));
  }
}

// Two passes, so that the deviation of values far from zero is one.
template <class T>
void Accumulate(std::span<const T> values, TensorStatistics& s) {
  double sum = 0;
  for (const T& value : values) {
    const double number = NumberOf(value);
    if (std::isnan(number)) {
      ++s.nans;
    } else if (std::isinf(number)) {
      ++s.infinities;
    } else {
      s.min = s.numbers == 0 ? number : std::min(s.min, number);
      s.max = s.numbers == 0 ? number : std::max(s.max, number);
      ++s.numbers;
      s.zeros += number == 0;
      sum += number;
    }
  }
  if (s.numbers == 0) return;
  s.mean = sum / static_cast<double>(s.numbers);
  double squares = 0;
  for (const T& value : values) {
    const double number = NumberOf(value);
    if (std::isfinite(number)) squares += (number - s.mean) * (number - s.mean);
  }
  s.deviation = std::sqrt(squares / static_cast<double>(s.numbers));
}

}  // namespace

void AppendElementJson(JsonWriter& json, const Tensor& tensor, int64_t i) {
  bool shown = false;
  ForEachType<ShownTypes>([&]<class T>() {
    if (tensor.dtype() != kDTypeOf<T>) return;
    AppendJson(json, tensor.data<T>()[i]);
    shown = true;
  });
  if (!shown) json.Null();
}

std::optional<double> ElementNumber(const Tensor& tensor, int64_t i) {
  std::optional<double> number;
  ForEachType<ShownTypes>([&]<class T>() {
    if constexpr (kIsNumber<T>) {
      if (tensor.dtype() == kDTypeOf<T>) number = NumberOf(tensor.data<T>()[i]);
    }
  });
  return number;
}

TensorStatistics StatisticsOf(const Tensor& tensor) {
  TensorStatistics statistics;
  ForEachType<ShownTypes>([&]<class T>() {
    if (tensor.dtype() != kDTypeOf<T>) return;
    if constexpr (kIsNumber<T>) {
      Accumulate(tensor.flat<T>(), statistics);
    } else if constexpr (std::is_same_v<T, std::string>) {
      for (const std::string& text : tensor.flat<std::string>()) {
        statistics.text_bytes += text.size();
      }
    }
  });
  return statistics;
}

}  // namespace thalweg
