// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <limits>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/text/unicode.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::TextDecoder;
using compute::Utf;

enum class OnError { kStrict, kReplace, kIgnore };

// What is done with characters that are none.
struct Errors {
  OnError how = OnError::kReplace;
  int32_t replacement = 0xfffd;
  bool control_too = false;

  static Result<Errors> Parse(const KernelConstruction& c, bool has_control) {
    Errors errors;
    ASSIGN_OR_RETURN(const std::string how, c.Attr<std::string>("errors"));
    ASSIGN_OR_RETURN(const int64_t replacement, c.Attr<int64_t>("replacement_char"));
    if (has_control) {
      ASSIGN_OR_RETURN(errors.control_too, c.Attr<bool>("replace_control_characters"));
    }
    if (how == "strict") {
      errors.how = OnError::kStrict;
    } else if (how == "ignore") {
      errors.how = OnError::kIgnore;
    } else if (how != "replace") {
      return InvalidArgument("errors must be strict, replace or ignore, got ", how);
    }
    if (!compute::IsCharacter(replacement)) {
      return InvalidArgument("replacement_char out of unicode codepoint range: ", replacement);
    }
    errors.replacement = static_cast<int32_t>(replacement);
    return errors;
  }
  bool IsControl(int32_t c) const { return control_too && c >= 0 && c <= 0x1f; }
};

class DecodeCpu : public Kernel {
 public:
  DecodeCpu(TextDecoder decoder, Errors errors, bool with_starts, DType splits)
      : decoder_(std::move(decoder)), errors_(errors), with_starts_(with_starts), splits_(splits) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string encoding, c.Attr<std::string>("input_encoding"));
    ASSIGN_OR_RETURN(const Errors errors, Errors::Parse(c, true));
    ASSIGN_OR_RETURN(TextDecoder decoder, TextDecoder::Make(encoding));
    return std::unique_ptr<Kernel>(std::make_unique<DecodeCpu>(
        std::move(decoder), errors, c.node().num_outputs() == 3, c.output_type(0)));
  }

  Status Compute(Context& ctx) override {
    std::vector<int32_t> characters;
    std::vector<int64_t> starts, splits{0};
    bool bad = false;
    compute::CancelLooks looks(ctx.work());
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      RETURN_IF_ERROR(looks.Did(static_cast<int64_t>(text.size()) + 1));
      const auto add = [&](int32_t character, int64_t start) {
        if (character < 0 && errors_.how == OnError::kStrict) bad = true;
        if (character < 0 || errors_.IsControl(character)) {
          if (errors_.how == OnError::kIgnore) return;
          character = errors_.replacement;
        }
        characters.push_back(character);
        starts.push_back(start);
      };
      RETURN_IF_ERROR(compute::Interruptibly(ctx.work(), [&] { decoder_.Decode(text, add); }));
      splits.push_back(static_cast<int64_t>(characters.size()));
    }
    if (bad) return InvalidArgument("Invalid formatting on input string");
    RETURN_IF_ERROR(SetSplits(ctx, splits));
    const Shape shape{static_cast<int64_t>(characters.size())};
    ctx.set_output(1, Tensor::Of<int32_t>(characters, shape));
    if (with_starts_) ctx.set_output(2, Tensor::Of<int64_t>(starts, shape));
    return OkStatus();
  }

 private:
  Status SetSplits(Context& ctx, const std::vector<int64_t>& splits) const {
    const Shape shape{static_cast<int64_t>(splits.size())};
    if (splits_ == DType::kInt64) {
      ctx.set_output(0, Tensor::Of<int64_t>(splits, shape));
      return OkStatus();
    }
    if (splits.back() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument(splits.back(), " characters do not fit into row splits of int32");
    }
    const std::vector<int32_t> narrow(splits.begin(), splits.end());
    ctx.set_output(0, Tensor::Of<int32_t>(narrow, shape));
    return OkStatus();
  }

  const TextDecoder decoder_;
  const Errors errors_;
  const bool with_starts_;
  const DType splits_;
};

class EncodeCpu : public Kernel {
 public:
  EncodeCpu(Utf encoding, Errors errors) : encoding_(encoding), errors_(errors) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("output_encoding"));
    ASSIGN_OR_RETURN(const Utf encoding, compute::OutputEncoding(name));
    ASSIGN_OR_RETURN(const Errors errors, Errors::Parse(c, false));
    return std::unique_ptr<Kernel>(std::make_unique<EncodeCpu>(encoding, errors));
  }

  Status Compute(Context& ctx) override {
    const Tensor &values = ctx.input(0), &splits = ctx.input(1);
    RETURN_IF_ERROR(CheckSplits(values, splits));
    const int64_t rows = splits.num_elements() - 1;
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape{rows}));
    compute::CancelLooks looks(ctx.work());
    for (int64_t row = 0; row < rows; ++row) {
      RETURN_IF_ERROR(looks.Did());
      std::string& text = out->mutable_data<std::string>()[row];
      for (int64_t i = IntAt(splits, row); i < IntAt(splits, row + 1); ++i) {
        RETURN_IF_ERROR(looks.Did());
        int32_t character = values.data<int32_t>()[i];
        if (!compute::IsCharacter(character)) {
          if (errors_.how == OnError::kStrict) {
            return InvalidArgument("Code point is out of range for Unicode, or is a surrogate: ",
                                   character);
          }
          if (errors_.how == OnError::kIgnore) continue;
          character = errors_.replacement;
        }
        compute::AppendCharacter(encoding_, character, text);
      }
    }
    return OkStatus();
  }

 private:
  static Status CheckSplits(const Tensor& values, const Tensor& splits) {
    if (values.rank() != 1 || splits.rank() != 1) {
      return InvalidArgument("input_values and input_splits must be vectors, got shapes ",
                             values.shape(), " and ", splits.shape());
    }
    if (splits.num_elements() == 0) {
      return InvalidArgument("Input_splits should contain elements, but has none");
    }
    if (IntAt(splits, 0) != 0) {
      return InvalidArgument("First value in input_splits must be zero, got ", IntAt(splits, 0));
    }
    for (int64_t i = 1; i < splits.num_elements(); ++i) {
      if (IntAt(splits, i) >= IntAt(splits, i - 1)) continue;
      return InvalidArgument("Values in input_splits must be equal or in ascending order, got ",
                             IntAt(splits, i - 1), " before ", IntAt(splits, i));
    }
    const int64_t last = IntAt(splits, splits.num_elements() - 1);
    if (last == values.num_elements()) return OkStatus();
    return InvalidArgument("Last value in input_splits must be equal to length of input_tensor, ",
                           values.num_elements(), ", got ", last);
  }

  const Utf encoding_;
  const Errors errors_;
};

class TranscodeCpu : public Kernel {
 public:
  TranscodeCpu(TextDecoder decoder, Utf encoding, Errors errors)
      : decoder_(std::move(decoder)), encoding_(encoding), errors_(errors) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string from, c.Attr<std::string>("input_encoding"));
    ASSIGN_OR_RETURN(const std::string to, c.Attr<std::string>("output_encoding"));
    ASSIGN_OR_RETURN(const Utf encoding, compute::OutputEncoding(to));
    ASSIGN_OR_RETURN(const Errors errors, Errors::Parse(c, true));
    ASSIGN_OR_RETURN(TextDecoder decoder, TextDecoder::Make(from));
    return std::unique_ptr<Kernel>(
        std::make_unique<TranscodeCpu>(std::move(decoder), encoding, errors));
  }

  Status Compute(Context& ctx) override {
    std::atomic<bool> bad{false};
    RETURN_IF_ERROR(MapTexts<std::string>(ctx, [&](const std::string& text) {
      std::string changed;
      decoder_.Decode(text, [&](int32_t character, int64_t) {
        if (character < 0 || errors_.IsControl(character)) {
          if (errors_.how == OnError::kStrict) bad = true;
          if (errors_.how != OnError::kReplace) return;
          character = errors_.replacement;
        }
        compute::AppendCharacter(encoding_, character, changed);
      });
      return changed;
    }));
    return bad ? InvalidArgument("Invalid formatting on input string") : OkStatus();
  }

 private:
  const TextDecoder decoder_;
  const Utf encoding_;
  const Errors errors_;
};

Status Script(Context& ctx) {
  ASSIGN_OR_RETURN(const compute::UnicodeTables tables, compute::UnicodeTables::Get());
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt32, input.shape()));
  constexpr int64_t kPerBlock = 1 << 14;
  return compute::ForBlocks(
      ctx.work(), input.num_elements(), kPerBlock, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          out->mutable_data<int32_t>()[i] = tables.ScriptOf(input.data<int32_t>()[i]);
        }
      });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(unicode, cpu) {
  registry.Add<DecodeCpu>("UnicodeDecode", kCpu);
  registry.Add<DecodeCpu>("UnicodeDecodeWithOffsets", kCpu);
  registry.Add<EncodeCpu>("UnicodeEncode", kCpu);
  registry.AddFunction<Script>("UnicodeScript", kCpu);
  registry.Add<TranscodeCpu>("UnicodeTranscode", kCpu);
}
