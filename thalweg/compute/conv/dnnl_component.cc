// SPDX-License-Identifier: Apache-2.0
// libthalweg_dnnl.so: oneDNN 2 behind the table of dnnl_api.h. The one file that sees its headers.
#include <dnnl.hpp>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>

#include "thalweg/compute/conv/dnnl_api.h"

extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Dims = memory::dims;

// oneDNN asks OpenMP for the number of threads, which is a property of the calling thread.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }

 private:
  int before_;
};

}  // namespace

struct ThalwegDnnlPlan {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::primitive primitive;
  int64_t form = 0;
  memory::desc input, filter, bias, output, scratch, plain_filter;
};

namespace {

Dims Pair(const int64_t* values, int64_t less = 0) { return {values[0] - less, values[1] - less}; }

bool IsFast(const char* name) {
  const std::string text = name;
  return text.find("ref") == std::string::npos && text.find("gemm:") == std::string::npos;
}

// The descriptors and the primitive of a convolution; false when only slow code is left.
template <class PrimitiveDesc>
bool Adopt(ThalwegDnnlPlan& plan, const PrimitiveDesc& desc, const memory::desc& filter) {
  if (!IsFast(desc.impl_info_str())) return false;
  plan.filter = filter;
  plan.scratch = desc.scratchpad_desc();
  return true;
}

bool Build(ThalwegDnnlPlan& plan, const ThalwegDnnlConv& c) {
  const auto f32 = memory::data_type::f32;
  const auto nhwc = memory::format_tag::nhwc;
  const Dims filter{c.out_channels, c.in_channels, c.filter[0], c.filter[1]};
  plan.input = {{c.batch, c.in_channels, c.input[0], c.input[1]}, f32, nhwc};
  plan.output = {{c.batch, c.out_channels, c.output[0], c.output[1]}, f32, nhwc};
  const int64_t tap = c.whole_in * c.whole_out;
  plan.plain_filter = {filter, f32, Dims{1, c.whole_out, c.filter[1] * tap, tap}};
  if (c.bias != 0) plan.bias = {{c.out_channels}, f32, memory::format_tag::x};
  plan.form = c.form;
  const memory::desc any{filter, f32, memory::format_tag::any};
  const Dims stride = Pair(c.stride), dilation = Pair(c.dilation, 1);
  const Dims before = Pair(c.pad_before), after = Pair(c.pad_after);
  const auto direct = algorithm::convolution_direct;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  if (c.add != 0) ops.append_sum(1.0f);
  if (c.relu != 0) ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
  attr.set_post_ops(ops);
  using Forward = dnnl::convolution_forward;
  const Forward::primitive_desc forward(
      c.bias != 0 ? Forward::desc(prop_kind::forward_training, direct, plan.input, any, plan.bias,
                                  plan.output, stride, dilation, before, after)
                  : Forward::desc(prop_kind::forward_training, direct, plan.input, any, plan.output,
                                  stride, dilation, before, after),
      attr, plan.engine);
  if (c.form == kThalwegDnnlForward) {
    if (!Adopt(plan, forward, forward.weights_desc())) return false;
    plan.primitive = Forward(forward);
  } else if (c.form == kThalwegDnnlBackwardInput) {
    using Backward = dnnl::convolution_backward_data;
    const Backward::primitive_desc desc(
        Backward::desc(direct, plan.input, any, plan.output, stride, dilation, before, after), attr,
        plan.engine, forward);
    if (!Adopt(plan, desc, desc.weights_desc())) return false;
    plan.primitive = Backward(desc);
  } else {
    using Backward = dnnl::convolution_backward_weights;
    const Backward::primitive_desc desc(
        Backward::desc(direct, plan.input, any, plan.output, stride, dilation, before, after), attr,
        plan.engine, forward);
    if (!Adopt(plan, desc, desc.diff_weights_desc())) return false;
    plan.primitive = Backward(desc);
  }
  return true;
}

ThalwegDnnlPlan* Make(const ThalwegDnnlConv* conv, size_t* scratch_bytes, size_t* filter_bytes) {
  try {
    const OneThread one;
    auto plan = std::make_unique<ThalwegDnnlPlan>();
    if (!Build(*plan, *conv)) return nullptr;
    *scratch_bytes = plan->scratch.get_size();
    *filter_bytes = plan->filter.get_size();
    return plan.release();
  } catch (const std::exception&) {  // no kernel at all
    return nullptr;
  }
}

void Free(ThalwegDnnlPlan* plan) { delete plan; }

const void* FilterFormat(const ThalwegDnnlPlan* plan, size_t* size) {
  *size = sizeof plan->filter.data;
  return &plan->filter.data;
}

int Reorder(const ThalwegDnnlPlan& plan, const memory::desc& from_desc, const float* from,
            const memory::desc& to_desc, float* to) {
  try {
    const OneThread one;
    memory source(from_desc, plan.engine, const_cast<float*>(from));
    memory target(to_desc, plan.engine, to);
    dnnl::stream stream(plan.engine);
    dnnl::reorder(source, target).execute(stream, source, target);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

int PackFilter(const ThalwegDnnlPlan* plan, const float* filter, float* packed) {
  return Reorder(*plan, plan->plain_filter, filter, plan->filter, packed);
}

int UnpackFilter(const ThalwegDnnlPlan* plan, const float* packed, float* filter) {
  return Reorder(*plan, plan->filter, packed, plan->plain_filter, filter);
}

int Run(const ThalwegDnnlPlan* plan, float* input, float* packed, const float* bias, float* output,
        void* scratch) {
  const bool forward = plan->form == kThalwegDnnlForward;
  const bool to_input = plan->form == kThalwegDnnlBackwardInput;
  const bool to_filter = plan->form == kThalwegDnnlBackwardFilter;
  try {
    const OneThread one;
    dnnl::stream stream(plan->engine);
    const auto wrap = [&](const memory::desc& desc, void* data) {
      return memory(desc, plan->engine, data);
    };
    std::unordered_map<int, memory> arguments{
        {to_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, wrap(plan->input, input)},
        {to_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, wrap(plan->filter, packed)},
        {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, wrap(plan->output, output)},
        {DNNL_ARG_SCRATCHPAD, wrap(plan->scratch, scratch)}};
    if (bias != nullptr) {
      arguments.insert({DNNL_ARG_BIAS, wrap(plan->bias, const_cast<float*>(bias))});
    }
    plan->primitive.execute(stream, arguments);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

constexpr ThalwegDnnlApi kApi = {Make, Free, FilterFormat, PackFilter, UnpackFilter, Run};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ThalwegDnnlApi* thalweg_dnnl_api(
    int version, int level) {
  if (version != THALWEG_DNNL_VERSION) return nullptr;
  constexpr dnnl::cpu_isa kMost[] = {dnnl::cpu_isa::sse41, dnnl::cpu_isa::avx2,
                                     dnnl::cpu_isa::avx512_core};
  if (level < 0 || level > 2) return nullptr;
  try {
    dnnl::set_max_cpu_isa(kMost[level]);  // refused after the first primitive: then it stands
    return &kApi;
  } catch (const std::exception&) {
    return nullptr;
  }
}
