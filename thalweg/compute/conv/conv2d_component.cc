// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_component.h"

#include <algorithm>
#include <array>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/conv/conv_plans.h"
#include "thalweg/compute/conv/packed_filter.h"
#include "thalweg/compute/isa/leaf.h"

namespace thalweg::compute {
namespace {

using PlanPtr = std::shared_ptr<const ConvPlan>;

constexpr double kLeastProducts = 2e6;  // below, packing and calls cost more than they save
constexpr int64_t kMostParts = 4;

// A window cut to the outputs [begin, end): the input rows that they see, and their padding.
struct Band {
  Band(const Window& w, int64_t begin, int64_t end) : window(w) {
    const int64_t reach = (w.size - 1) * w.dilation + 1;
    const int64_t low = begin * w.stride - w.pad_before;
    const int64_t high = (end - 1) * w.stride - w.pad_before + reach;
    first = std::clamp<int64_t>(low, 0, w.input);
    window.input = std::clamp<int64_t>(high, first, w.input) - first;
    window.pad_before = first - low;
    window.output = end - begin;
  }
  Window window;
  int64_t first;  // input row
};

int64_t PadAfter(const Window& w) {
  const int64_t reach = (w.size - 1) * w.dilation + 1;
  return std::max<int64_t>(0, (w.output - 1) * w.stride + reach - w.input - w.pad_before);
}

ThalwegDnnlConv Describe(ThalwegDnnlForm form, const Conv2DShape& s, const Window& rows,
                         int64_t batch, const GemmEpilogue& epilogue = {}) {
  const Window& columns = s.columns;
  return {.form = form,
          .batch = batch,
          .in_channels = s.in_channels,
          .out_channels = s.out_channels,
          .input = {rows.input, columns.input},
          .output = {rows.output, columns.output},
          .filter = {rows.size, columns.size},
          .stride = {rows.stride, columns.stride},
          .dilation = {rows.dilation, columns.dilation},
          .pad_before = {rows.pad_before, columns.pad_before},
          .pad_after = {PadAfter(rows), PadAfter(columns)},
          .whole_in = s.in_channels,
          .whole_out = s.out_channels,
          .bias = epilogue.bias != nullptr,
          .add = epilogue.residual != nullptr,
          .relu = epilogue.relu};
}

bool IsWorthIt(const Conv2DShape& s) {
  const double products = static_cast<double>(s.batch * s.OutPixels()) *
                          static_cast<double>(s.Taps() * s.in_channels) *
                          static_cast<double>(s.out_channels);
  // Every size must fit into an int, with room: the component's own arithmetic is not known.
  const int64_t largest =
      std::max({s.rows.input, s.columns.input, s.rows.size, s.columns.size, s.rows.stride,
                s.columns.stride, s.rows.dilation, s.columns.dilation, s.rows.pad_before,
                s.columns.pad_before, s.in_channels, s.out_channels, s.batch});
  return products >= kLeastProducts && largest < (1 << 20);
}

// The library's own products are faster where a large filter meets few pixels: they read it as it
// lies, what the component packs it for.
bool IsDeep(const Conv2DShape& s, int64_t most_pixels) {
  constexpr int64_t kLargeFilter = 1 << 19;
  return s.Taps() * s.in_channels * s.out_channels >= kLargeFilter &&
         s.Taps() * s.batch * s.OutPixels() <= most_pixels;
}

// Images that one shard takes. A large filter is read by every shard anew: few shards then.
int64_t ImagesPerShard(const Conv2DShape& s) {
  constexpr int64_t kSmallFilter = 1 << 18;
  if (s.Taps() * s.in_channels * s.out_channels <= kSmallFilter) return 1;
  return (s.batch + kMostParts - 1) / kMostParts;
}

Status Refused() { return Internal("oneDNN could not execute a convolution"); }

struct Part {
  PlanPtr plan;
  float* input;
  float* output;
  int64_t output_floats;  // in one piece
};

// What a plan adds to must lie in its output beforehand.
void Prepare(const Part& part, const float* output, const GemmEpilogue& epilogue) {
  if (epilogue.residual == nullptr || epilogue.residual == output) return;
  const float* from = static_cast<const float*>(epilogue.residual) + (part.output - output);
  std::copy_n(from, part.output_floats, part.output);
}

// All parts, one a shard. The filter is packed once for all that lay it out alike.
template <class GetPart>
Status RunParts(Work& work, const Conv2DShape& s, int64_t parts, const ConvFilter& filter,
                const float* output, const GemmEpilogue& epilogue, const GetPart& part) {
  const auto pack_for = [](const ConvPlan& plan) {
    return [&plan](const float* plain, float* packed) {
      return plan.PackFilter(plain, packed) ? OkStatus() : Refused();
    };
  };
  const PlanPtr first = part(0).plan;
  PackedFilter packed(work);
  RETURN_IF_ERROR(
      packed.Make(filter, first->filter_format(), s, first->filter_floats(), pack_for(*first)));
  std::atomic<bool> failed{false};
  RETURN_IF_ERROR(ForShards(work, parts, [&](int64_t index) {
    const Part p = part(index);
    Scratch<char> scratch(work, static_cast<int64_t>(p.plan->scratch_bytes()));
    if (!scratch) return false;
    const float* used = packed.get();
    PackedFilter own(work);
    if (p.plan != first && p.plan->filter_format() != first->filter_format()) {
      const Status made = own.Make({filter.values, filter.scale, nullptr}, "", s,
                                   p.plan->filter_floats(), pack_for(*p.plan));
      if (made.code() == Code::kResourceExhausted) return false;
      if (!made.ok()) failed = true;
      used = own.get();
    }
    Prepare(p, output, epilogue);
    if (used == nullptr ||
        !p.plan->Run(p.input, const_cast<float*>(used), static_cast<const float*>(epilogue.bias),
                     p.output, scratch.get())) {
      failed = true;
    }
    return true;
  }));
  return failed ? Refused() : OkStatus();
}

// Groups of images; the last may be smaller and then has a plan of its own.
std::optional<Status> RunByImages(Work& work, ConvPlans& plans, ThalwegDnnlForm form,
                                  const Conv2DShape& s, float* input, const ConvFilter& filter,
                                  float* output, const GemmEpilogue& epilogue) {
  const int64_t images = ImagesPerShard(s), rest = s.batch % images;
  const PlanPtr plan = plans.Find(work.isa(), Describe(form, s, s.rows, images, epilogue));
  if (plan == nullptr) return std::nullopt;
  PlanPtr last = plan;
  if (rest != 0) last = plans.Find(work.isa(), Describe(form, s, s.rows, rest, epilogue));
  if (last == nullptr) return std::nullopt;
  const int64_t parts = (s.batch + images - 1) / images;
  const int64_t size = images * s.OutPixels() * s.out_channels;
  return RunParts(work, s, parts, filter, output, epilogue, [&](int64_t i) {
    const bool is_last = i + 1 == parts;
    return Part{is_last ? last : plan, input + i * images * s.InPixels() * s.in_channels,
                output + i * size, is_last && rest != 0 ? size / images * rest : size};
  });
}

// One image in bands of output rows.
std::optional<Status> RunByRows(Work& work, ConvPlans& plans, const Conv2DShape& s, float* input,
                                const ConvFilter& filter, float* output,
                                const GemmEpilogue& epilogue) {
  const int64_t parts = std::min(kMostParts, s.rows.output);
  const int64_t row = s.columns.output * s.out_channels;
  std::array<Part, kMostParts> made;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = s.rows.output * i / parts, end = s.rows.output * (i + 1) / parts;
    const Band band(s.rows, begin, end);
    if (band.window.input == 0) return std::nullopt;
    const auto conv = Describe(kThalwegDnnlForward, s, band.window, 1, epilogue);
    made[i] = {plans.Find(work.isa(), conv), input + band.first * s.columns.input * s.in_channels,
               output + begin * row, (end - begin) * row};
    if (made[i].plan == nullptr) return std::nullopt;
  }
  return RunParts(work, s, parts, filter, output, epilogue, [&](int64_t i) { return made[i]; });
}

// Convolutions whose filter is larger than what they make are cut by channels of the latter: each
// part of the filter is then read, or made, once. A part has its images to itself, in scratch.
struct ChannelParts {
  int64_t channels, pixels;  // of the whole image that is cut
  int64_t part() const { return channels / kMostParts; }

  bool AreWorthIt(int64_t filter_floats) const {
    return channels % (32 * kMostParts) == 0 && part() >= 64 && filter_floats >= channels * pixels;
  }
};

struct AddRow {
  [[gnu::always_inline]] static void Run(const float* __restrict a, const float* __restrict b,
                                         int64_t n, bool relu, float* to) {
    for (int64_t i = 0; i < n; ++i) {
      const float sum = a[i] + b[i];
      to[i] = relu && !(sum > 0) && sum == sum ? 0.0f : sum;
    }
  }
};

// Puts a part's image, dense, to its channels of the whole one.
void Merge(const IsaTable& isa, const ChannelParts& cut, int64_t first, const float* part,
           const GemmEpilogue& epilogue, float* whole) {
  const int64_t n = cut.part();
  const auto* residual = static_cast<const float*>(epilogue.residual);
  for (int64_t p = 0; p < cut.pixels; ++p, part += n) {
    float* to = whole + p * cut.channels + first;
    if (residual == nullptr) {
      std::copy_n(part, n, to);
    } else {
      RunLeaf<AddRow>(isa, part, residual + p * cut.channels + first, n, epilogue.relu, to);
    }
  }
}

// `s` is the whole convolution, `conv` one part of it; `to_input`: the input is cut and made.
std::optional<Status> RunByChannels(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                    const ThalwegDnnlConv& conv, bool to_input, float* input,
                                    const ConvFilter& filter, float* output,
                                    const GemmEpilogue& epilogue, const ChannelParts& cut) {
  const PlanPtr plan = plans.Find(work.isa(), conv);
  if (plan == nullptr) return std::nullopt;
  const int64_t n = cut.part(), size = (plan->filter_floats() + 15) / 16 * 16;
  PackedFilter packed(work);
  const auto pack = [&](const float* plain, float* to) {
    std::atomic<bool> failed{false};
    RETURN_IF_ERROR(ForShards(work, kMostParts, [&](int64_t i) {
      const int64_t first = i * n * (to_input ? s.out_channels : 1);
      if (!plan->PackFilter(plain + first, to + i * size)) failed = true;
      return true;
    }));
    return failed ? Refused() : OkStatus();
  };
  RETURN_IF_ERROR(
      packed.Make(filter, StrCat("parts ", plan->filter_format()), s, kMostParts * size, pack));
  std::atomic<bool> failed{false};
  RETURN_IF_ERROR(ForShards(work, kMostParts, [&](int64_t i) {
    Scratch<char> scratch(work, static_cast<int64_t>(plan->scratch_bytes()));
    Scratch<float> part(work, cut.pixels * n);
    if (!scratch || !part) return false;
    const auto* bias = static_cast<const float*>(epilogue.bias);
    if (bias != nullptr) bias += i * n;
    float* used = const_cast<float*>(packed.get()) + i * size;
    if (!plan->Run(to_input ? part.get() : input, used, bias, to_input ? output : part.get(),
                   scratch.get())) {
      failed = true;
      return true;
    }
    Merge(work.isa(), cut, i * n, part.get(), epilogue, to_input ? input : output);
    return true;
  }));
  return failed ? Refused() : OkStatus();
}

// Each part makes the filters of its output channels, from a dense copy of their gradient.
std::optional<Status> FilterGradByChannels(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                           float* input, const float* output_grad,
                                           float* filter_grad) {
  const ChannelParts cut{s.out_channels, s.batch * s.OutPixels()};
  if (!cut.AreWorthIt(PackedFilter::FilterSize(s))) return std::nullopt;
  const int64_t n = cut.part();
  Conv2DShape of_part = s;
  of_part.out_channels = n;
  ThalwegDnnlConv conv = Describe(kThalwegDnnlBackwardFilter, of_part, s.rows, s.batch);
  conv.whole_out = s.out_channels;
  const PlanPtr plan = plans.Find(work.isa(), conv);
  if (plan == nullptr) return std::nullopt;
  std::atomic<bool> failed{false};
  RETURN_IF_ERROR(ForShards(work, kMostParts, [&](int64_t i) {
    Scratch<float> packed(work, plan->filter_floats()), part(work, cut.pixels * n);
    Scratch<char> scratch(work, static_cast<int64_t>(plan->scratch_bytes()));
    if (!packed || !scratch || !part) return false;
    for (int64_t p = 0; p < cut.pixels; ++p) {
      std::copy_n(output_grad + p * cut.channels + i * n, n, part.get() + p * n);
    }
    if (!plan->Run(input, packed.get(), nullptr, part.get(), scratch.get()) ||
        !plan->UnpackFilter(packed.get(), filter_grad + i * n)) {
      failed = true;
    }
    return true;
  }));
  return failed ? Refused() : OkStatus();
}

}  // namespace

std::optional<Status> ComponentForward(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                       float* input, const ConvFilter& filter, float* output,
                                       const GemmEpilogue& epilogue) {
  if (!IsWorthIt(s) || (filter.keeper == nullptr && s.batch > 1 && IsDeep(s, 512))) {
    return std::nullopt;
  }
  const ChannelParts cut{s.out_channels, s.batch * s.OutPixels()};
  if (cut.AreWorthIt(PackedFilter::FilterSize(s))) {
    Conv2DShape part = s;
    part.out_channels = cut.part();
    GemmEpilogue inner = epilogue;  // the residual, and what follows it, when parts are merged
    inner.residual = nullptr;
    inner.relu &= epilogue.residual == nullptr;
    ThalwegDnnlConv conv = Describe(kThalwegDnnlForward, part, s.rows, s.batch, inner);
    conv.whole_out = s.out_channels;
    auto done = RunByChannels(work, plans, s, conv, false, input, filter, output, epilogue, cut);
    if (done.has_value()) return done;
  }
  if (s.batch == 1) return RunByRows(work, plans, s, input, filter, output, epilogue);
  return RunByImages(work, plans, kThalwegDnnlForward, s, input, filter, output, epilogue);
}

std::optional<Status> ComponentBackwardInput(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                             const ConvFilter& filter, float* output_grad,
                                             float* input_grad) {
  if (!IsWorthIt(s) || IsDeep(s, 4096)) return std::nullopt;
  const ChannelParts cut{s.in_channels, s.batch * s.InPixels()};
  if (cut.AreWorthIt(2 * PackedFilter::FilterSize(s))) {
    Conv2DShape part = s;
    part.in_channels = cut.part();
    ThalwegDnnlConv conv = Describe(kThalwegDnnlBackwardInput, part, s.rows, s.batch);
    conv.whole_in = s.in_channels;
    auto done = RunByChannels(work, plans, s, conv, true, input_grad, filter, output_grad, {}, cut);
    if (done.has_value()) return done;
  }
  return RunByImages(work, plans, kThalwegDnnlBackwardInput, s, input_grad, filter, output_grad,
                     {});
}

std::optional<Status> ComponentBackwardFilter(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                              float* input, float* output_grad,
                                              float* filter_grad) {
  if (!IsWorthIt(s) || IsDeep(s, 4096)) return std::nullopt;
  auto done = FilterGradByChannels(work, plans, s, input, output_grad, filter_grad);
  if (done.has_value()) return done;
  const int64_t parts = std::min(s.batch, kMostParts);
  std::array<PlanPtr, kMostParts> plan;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t images = s.batch * (i + 1) / parts - s.batch * i / parts;
    plan[i] = plans.Find(work.isa(), Describe(kThalwegDnnlBackwardFilter, s, s.rows, images));
    if (plan[i] == nullptr) return std::nullopt;
  }
  // Each part's sum goes back to the plain layout, which all share, before it is added.
  const int64_t size = s.Taps() * s.in_channels * s.out_channels;
  Scratch<float> partial(work, (parts - 1) * size);
  if (!partial) return OutOfScratch();
  std::atomic<bool> failed{false};
  const Status status = ForShards(work, parts, [&](int64_t i) {
    Scratch<float> packed(work, plan[i]->filter_floats());
    Scratch<char> scratch(work, static_cast<int64_t>(plan[i]->scratch_bytes()));
    if (!packed || !scratch) return false;
    const int64_t first = s.batch * i / parts;
    const bool done =
        plan[i]->Run(input + first * s.InPixels() * s.in_channels, packed.get(), nullptr,
                     output_grad + first * s.OutPixels() * s.out_channels, scratch.get()) &&
        plan[i]->UnpackFilter(packed.get(), i == 0 ? filter_grad : partial.get() + (i - 1) * size);
    if (!done) failed = true;
    return true;
  });
  RETURN_IF_ERROR(status);
  if (failed) return Refused();
  return ForBlocks(work, size, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t part = 0; part + 1 < parts; ++part) {
      const float* from = partial.get() + part * size;
      for (int64_t i = begin; i < end; ++i) filter_grad[i] += from[i];
    }
  });
}

}  // namespace thalweg::compute
