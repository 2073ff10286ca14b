// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_component.h"

#include <algorithm>
#include <array>

#include "thalweg/compute/conv/conv_plans.h"

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
          .bias = epilogue.bias != nullptr,
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
};

// All parts, one a shard. The filter is packed once for all that lay it out alike.
template <class GetPart>
Status RunParts(Work& work, int64_t parts, const float* filter, const float* bias,
                const GetPart& part) {
  const PlanPtr first = part(0).plan;
  Scratch<float> packed(work, first->filter_floats());
  if (!packed) return OutOfScratch();
  if (!first->PackFilter(filter, packed.get())) return Refused();
  std::atomic<bool> failed{false};
  RETURN_IF_ERROR(ForShards(work, parts, [&](int64_t index) {
    const Part p = part(index);
    const bool shares = p.plan == first || p.plan->SharesFilterWith(*first);
    Scratch<float> own(work, shares ? 0 : p.plan->filter_floats());
    Scratch<char> scratch(work, static_cast<int64_t>(p.plan->scratch_bytes()));
    if (!own || !scratch) return false;
    if (!shares && !p.plan->PackFilter(filter, own.get())) failed = true;
    if (!p.plan->Run(p.input, shares ? packed.get() : own.get(), bias, p.output, scratch.get())) {
      failed = true;
    }
    return true;
  }));
  return failed ? Refused() : OkStatus();
}

// Groups of images; the last may be smaller and then has a plan of its own.
std::optional<Status> RunByImages(Work& work, ConvPlans& plans, ThalwegDnnlForm form,
                                  const Conv2DShape& s, float* input, const float* filter,
                                  float* output, const GemmEpilogue& epilogue) {
  const int64_t images = ImagesPerShard(s), rest = s.batch % images;
  const PlanPtr plan = plans.Find(work.isa(), Describe(form, s, s.rows, images, epilogue));
  if (plan == nullptr) return std::nullopt;
  PlanPtr last = plan;
  if (rest != 0) last = plans.Find(work.isa(), Describe(form, s, s.rows, rest, epilogue));
  if (last == nullptr) return std::nullopt;
  const int64_t parts = (s.batch + images - 1) / images;
  return RunParts(work, parts, filter, static_cast<const float*>(epilogue.bias), [&](int64_t i) {
    return Part{i + 1 == parts ? last : plan, input + i * images * s.InPixels() * s.in_channels,
                output + i * images * s.OutPixels() * s.out_channels};
  });
}

// One image in bands of output rows.
std::optional<Status> RunByRows(Work& work, ConvPlans& plans, const Conv2DShape& s, float* input,
                                const float* filter, float* output, const GemmEpilogue& epilogue) {
  const int64_t parts = std::min(kMostParts, s.rows.output);
  std::array<Part, kMostParts> made;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = s.rows.output * i / parts, end = s.rows.output * (i + 1) / parts;
    const Band band(s.rows, begin, end);
    if (band.window.input == 0) return std::nullopt;
    const auto conv = Describe(kThalwegDnnlForward, s, band.window, 1, epilogue);
    made[i] = {plans.Find(work.isa(), conv), input + band.first * s.columns.input * s.in_channels,
               output + begin * s.columns.output * s.out_channels};
    if (made[i].plan == nullptr) return std::nullopt;
  }
  return RunParts(work, parts, filter, static_cast<const float*>(epilogue.bias),
                  [&](int64_t i) { return made[i]; });
}

}  // namespace

std::optional<Status> ComponentForward(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                       float* input, const float* filter, float* output,
                                       const GemmEpilogue& epilogue) {
  if (epilogue.residual != nullptr || !IsWorthIt(s)) return std::nullopt;
  if (s.batch == 1) return RunByRows(work, plans, s, input, filter, output, epilogue);
  return RunByImages(work, plans, kThalwegDnnlForward, s, input, filter, output, epilogue);
}

std::optional<Status> ComponentBackwardInput(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                             const float* filter, float* output_grad,
                                             float* input_grad) {
  if (!IsWorthIt(s)) return std::nullopt;
  return RunByImages(work, plans, kThalwegDnnlBackwardInput, s, input_grad, filter, output_grad,
                     {});
}

std::optional<Status> ComponentBackwardFilter(Work& work, ConvPlans& plans, const Conv2DShape& s,
                                              float* input, float* output_grad,
                                              float* filter_grad) {
  if (!IsWorthIt(s)) return std::nullopt;
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
