// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string_view>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/text/utf8.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

Result<bool> CountsCharacters(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const std::string unit, c.Attr<std::string>("unit"));
  if (unit == "BYTE") return false;
  if (unit == "UTF8_CHAR") return true;
  return InvalidArgument("unit must be BYTE or UTF8_CHAR, got ", unit);
}

using Part = std::optional<std::string_view>;

// A negative length means all the rest.
Part BytePart(std::string_view text, int64_t pos, int64_t len) {
  const auto size = static_cast<int64_t>(text.size());
  if (pos < -size || pos > size) return std::nullopt;
  if (pos < 0) pos += size;
  const int64_t n = len < 0 ? size - pos : std::min(len, size - pos);
  return text.substr(static_cast<size_t>(pos), static_cast<size_t>(n));
}

// The byte at which character `n` begins; the size of the text for the one behind its last.
size_t StartOfCharacter(std::string_view text, int64_t n) {
  size_t at = 0;
  for (; n > 0 && at < text.size(); --n) {
    ++at;
    while (at < text.size() && compute::ContinuesUtf8(text[at])) ++at;
  }
  return at;
}

Part CharacterPart(std::string_view text, int64_t pos, int64_t len) {
  // Bytes that continue nothing begin no character.
  size_t skipped = 0;
  while (pos >= 0 && skipped < text.size() && compute::ContinuesUtf8(text[skipped])) ++skipped;
  const int64_t count = compute::Utf8Length(text);
  if (pos < -count || pos > count) return std::nullopt;
  if (pos < 0) pos += count;
  std::string_view rest = text.substr(skipped);
  rest.remove_prefix(StartOfCharacter(rest, pos));
  return rest.substr(0, StartOfCharacter(rest, std::max<int64_t>(len, 0)));
}

class SubstrCpu : public Kernel {
 public:
  explicit SubstrCpu(bool characters) : characters_(characters) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool characters, CountsCharacters(c));
    return std::unique_ptr<Kernel>(std::make_unique<SubstrCpu>(characters));
  }

  Status Compute(Context& ctx) override {
    const Tensor &input = ctx.input(0), &pos = ctx.input(1), &len = ctx.input(2);
    if (!(pos.shape() == len.shape())) {
      return InvalidArgument("pos and len should have the same shape, got: ", pos.shape(), " vs. ",
                             len.shape());
    }
    ASSIGN_OR_RETURN(const Shape shape, BroadcastOf(input.shape(), pos.shape()));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, shape));
    auto* const to = out->mutable_data<std::string>();
    const auto* const from = input.data<std::string>();
    TextMeter meter(ctx.allocator(), *out);
    const BroadcastIndex text_at(input.shape(), shape), place_at(pos.shape(), shape);
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      const std::string& text = from[text_at(i)];
      RETURN_IF_ERROR(looks.Did(characters_ ? 1 + static_cast<int64_t>(text.size()) : 1));
      const int64_t place = place_at(i), start = IntAt(pos, place);
      const Part part = characters_ ? CharacterPart(text, start, IntAt(len, place))
                                    : BytePart(text, start, IntAt(len, place));
      if (!part.has_value()) {
        return InvalidArgument(
            "pos ", start, " out of range for string b'", text.substr(0, 64), "' at index ", i,
            ", which has ",
            characters_ ? compute::Utf8Length(text) : static_cast<int64_t>(text.size()),
            characters_ ? " characters" : " bytes");
      }
      if (!meter.Take(part->size())) return meter.status();
      to[i] = *part;
    }
    return OkStatus();
  }

 private:
  // Where element i of the broadcast shape comes from.
  class BroadcastIndex {
   public:
    BroadcastIndex(const Shape& from, const Shape& to) : to_(to) {
      const int extra = to.rank() - from.rank();
      int64_t stride = 1;
      for (int d = to.rank() - 1; d >= 0; --d) {
        const int64_t size = d >= extra ? from.dim(d - extra) : 1;
        strides_.push_back(size == 1 ? 0 : stride);
        stride *= size;
      }
    }
    int64_t operator()(int64_t i) const {
      int64_t at = 0;
      for (int d = to_.rank() - 1, k = 0; d >= 0; --d, ++k) {
        at += i % to_.dim(d) * strides_[k];
        i /= to_.dim(d);
      }
      return at;
    }

   private:
    const Shape to_;
    Dims strides_;  // from the last dimension on
  };

  static Result<Shape> BroadcastOf(const Shape& a, const Shape& b) {
    Dims dims;
    const int rank = std::max(a.rank(), b.rank());
    for (int d = 0; d < rank; ++d) {
      const int i = d - (rank - a.rank()), j = d - (rank - b.rank());
      const int64_t x = i < 0 ? 1 : a.dim(i), y = j < 0 ? 1 : b.dim(j);
      if (x != y && x != 1 && y != 1) {
        return InvalidArgument("input and pos have shapes that do not broadcast together: ", a,
                               " and ", b);
      }
      dims.push_back(x == 1 ? y : x);
    }
    return Shape::Make({dims.begin(), dims.end()});
  }

  const bool characters_;
};

class LengthCpu : public Kernel {
 public:
  explicit LengthCpu(bool characters) : characters_(characters) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool characters, CountsCharacters(c));
    return std::unique_ptr<Kernel>(std::make_unique<LengthCpu>(characters));
  }
  Status Compute(Context& ctx) override {
    return MapTexts<int32_t>(ctx, [&](const std::string& text) {
      return static_cast<int32_t>(characters_ ? compute::Utf8Length(text)
                                              : static_cast<int64_t>(text.size()));
    });
  }

 private:
  const bool characters_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(substr, cpu) {
  for (DType index : {DType::kInt32, DType::kInt64}) {
    registry.Add<SubstrCpu>("Substr", kCpu, {{"T", index}});
  }
  registry.Add<LengthCpu>("StringLength", kCpu);
}
