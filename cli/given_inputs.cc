// SPDX-License-Identifier: Apache-2.0
#include "given_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <type_traits>

#include "file_work.h"

namespace cli {
namespace {

// SplitMix64: distributions of the standard library differ from one to another.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Unit()));
    return radius * std::cos(2 * std::numbers::pi * Unit());
  }

 private:
  double Unit() { return (static_cast<double>(Next() >> 11) + 0.5) * 0x1p-53; }
  uint64_t state_;
};

template <class T>
void Fill(tw::Tensor& tensor, Numbers& numbers) {
  T* const values = tensor.mutable_data<T>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(numbers.Normal());
    } else {
      const bool is_byte = sizeof(T) == 1 && !std::is_same_v<T, bool>;
      values[i] = static_cast<T>(numbers.Next() >> (is_byte ? 56 : 63));
    }
  }
}

tw::Tensor RandomTensor(const tw::ModelTensor& input, const std::vector<int64_t>& shape,
                        Numbers& numbers) {
  tw::Tensor tensor = tw::Tensor::New(input.spec.dtype, shape).OrThrow();
  switch (input.spec.dtype) {
    case tw::kFloat:
      Fill<float>(tensor, numbers);
      return tensor;
    case tw::kDouble:
      Fill<double>(tensor, numbers);
      return tensor;
    case tw::kInt32:
      Fill<int32_t>(tensor, numbers);
      return tensor;
    case tw::kInt64:
      Fill<int64_t>(tensor, numbers);
      return tensor;
    case tw::kUint8:
      Fill<uint8_t>(tensor, numbers);
      return tensor;
    case tw::kInt8:
      Fill<int8_t>(tensor, numbers);
      return tensor;
    case tw::kBool:
      Fill<bool>(tensor, numbers);
      return tensor;
    default:
      throw WorkError("input '" + input.name +
                      "' has a type of which there are no random values; " + "give it: --feed " +
                      input.name + "=FILE.npy");
  }
}

// What is given for it, or what the signature says with the batch where it is open.
std::vector<int64_t> ShapeOf(const tw::ModelTensor& input, const std::vector<GivenShape>& given,
                             int64_t batch) {
  const auto found = std::ranges::find(given, input.name, &GivenShape::input);
  if (found == given.end() && !input.spec.ranked) {
    throw WorkError("input '" + input.name + "' has an unknown rank; say its shape: --shape " +
                    input.name + "=1,224,224,3, or give it: --feed " + input.name + "=FILE.npy");
  }
  std::vector<int64_t> shape = found == given.end() ? input.spec.shape : found->dims;
  for (int64_t& dim : shape) dim = dim < 0 ? batch : dim;
  return shape;
}

}  // namespace

GivenShape ParseGivenShape(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw WorkError("--shape needs NAME=1,224,224,3, got '" + text + "'");
  }
  GivenShape shape{text.substr(0, equals), {}};
  size_t at = equals + 1;
  while (at < text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string dim = text.substr(at, end - at);
    char* rest = nullptr;
    shape.dims.push_back(dim == "?" ? -1 : std::strtoll(dim.c_str(), &rest, 10));
    if (dim.empty() || (rest != nullptr && *rest != 0)) {
      throw WorkError("--shape needs NAME=1,224,224,3, got '" + text + "'");
    }
    at = end + 1;
  }
  return shape;
}

NamedArrays ReadFeeds(const std::vector<std::string>& given) {
  NamedArrays feeds;
  for (const std::string& feed : given) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw FileError("--feed needs NAME=FILE.npy, got '" + feed + "'");
    }
    feeds.emplace_back(feed.substr(0, equals), ReadNpy(feed.substr(equals + 1)));
  }
  return feeds;
}

void AddRandomFeeds(const tw::ModelSignature& signature, const RandomFeedOptions& options,
                    NamedArrays* feeds) {
  std::vector<GivenShape> shapes;
  for (const std::string& text : options.shapes) {
    shapes.push_back(ParseGivenShape(text));
    if (std::ranges::find(signature.inputs, shapes.back().input, &tw::ModelTensor::name) ==
        signature.inputs.end()) {
      throw WorkError("--shape names '" + shapes.back().input + "'; the signature is " +
                      signature.ToString());
    }
  }
  Numbers numbers(options.seed);
  for (const tw::ModelTensor& input : signature.inputs) {
    const bool is_fed = std::ranges::any_of(*feeds, [&](const auto& feed) {
      return feed.first == input.name || feed.first == input.tensor;
    });
    if (is_fed || input.is_optional) continue;
    feeds->emplace_back(input.name,
                        RandomTensor(input, ShapeOf(input, shapes, options.batch), numbers));
  }
}

}  // namespace cli
