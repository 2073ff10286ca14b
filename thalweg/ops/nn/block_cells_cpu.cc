// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/rnn/lstm.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/nn/float_operands.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::LstmOptions;
using compute::LstmShape;
using compute::LstmState;
using compute::LstmWeights;

// What an input of a cell or sequence must be; without a name its shape alone is told.
struct Expected {
  int input;
  Shape shape;
  std::string_view name = {};
};

Status RankDiffers(std::string_view name, int rank, const Shape& shape) {
  return InvalidArgument(name, " must be rank ", rank, " but is rank ", shape.rank(),
                         " instead, shape ", shape);
}

Status CheckShapes(const Context& ctx, const std::vector<Expected>& all) {
  for (const Expected& e : all) {
    const Shape& shape = ctx.input(e.input).shape();
    if (shape == e.shape) continue;
    if (shape.rank() != e.shape.rank() && !e.name.empty()) {
      return RankDiffers(e.name, e.shape.rank(), shape);
    }
    return InvalidArgument("input ", e.input, " must have shape ", e.shape.ToString(), ", got ",
                           ctx.input(e.input).shape());
  }
  return OkStatus();
}

// x of `rank` at input `x`, followed by cs_prev, h_prev, w, wci, wcf, wco, b.
Result<LstmShape> LstmShapeOf(const Context& ctx, int x, int rank, bool peephole) {
  const Shape& image = ctx.input(x).shape();
  const Shape& state = ctx.input(x + 1).shape();
  if (image.rank() != rank) return RankDiffers("x", rank, image);
  if (state.rank() != 2) return RankDiffers("cs_prev", 2, state);
  const LstmShape s{image.dim(rank - 2), image.dim(rank - 1), state.dim(1)};
  const Shape cells{s.cells};
  std::vector<Expected> all = {{x + 1, Shape{s.batch, s.cells}, "cs_prev"},
                               {x + 2, Shape{s.batch, s.cells}, "h_prev"},
                               {x + 3, Shape{s.joined(), 4 * s.cells}, "w"},
                               {x + 7, Shape{4 * s.cells}, "b"}};
  constexpr std::string_view kOfSteps[] = {"wci_tensor", "wcf_tensor", "wco_tensor"};
  constexpr std::string_view kOfSequences[] = {"wci", "wcf", "wco"};
  for (int i = 0; i < 3 && peephole; ++i) {
    all.push_back({x + 4 + i, cells, rank == 2 ? kOfSteps[i] : kOfSequences[i]});
  }
  RETURN_IF_ERROR(CheckShapes(ctx, all));
  return s;
}

Result<LstmWeights> WeightsOf(FloatOperands& f, int w) {
  LstmWeights weights{};
  ASSIGN_OR_RETURN(weights.w, f.Input(w));
  ASSIGN_OR_RETURN(weights.wci, f.Input(w + 1));
  ASSIGN_OR_RETURN(weights.wcf, f.Input(w + 2));
  ASSIGN_OR_RETURN(weights.wco, f.Input(w + 3));
  ASSIGN_OR_RETURN(weights.b, f.Input(w + 4));
  return weights;
}

// The state moved on by `n` elements.
LstmState At(const LstmState& s, int64_t n) {
  return {s.i + n, s.cs + n, s.f + n, s.o + n, s.ci + n, s.co + n, s.h + n};
}

Result<LstmState> OutputState(FloatOperands& f, const Shape& shape) {
  float* out[7];
  for (int i = 0; i < 7; ++i) {
    ASSIGN_OR_RETURN(out[i], f.Output(i, shape));
  }
  return LstmState{out[0], out[1], out[2], out[3], out[4], out[5], out[6]};
}

// i, cs, f, o, ci, co (and h) from input `first` on; they are only read.
Result<LstmState> InputState(FloatOperands& f, int first, int count) {
  float* in[7] = {};
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const float* data, f.Input(first + i));
    in[i] = const_cast<float*>(data);
  }
  return LstmState{in[0], in[1], in[2], in[3], in[4], in[5], in[6]};
}

class LstmKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(options_.peephole, c.Attr<bool>("use_peephole"));
    if (c.node().FindAttr("forget_bias") != nullptr) {
      ASSIGN_OR_RETURN(options_.forget_bias, c.Attr<float>("forget_bias"));
    }
    if (c.node().FindAttr("cell_clip") != nullptr) {
      ASSIGN_OR_RETURN(options_.cell_clip, c.Attr<float>("cell_clip"));
    }
    ASSIGN_OR_RETURN(type_, c.Attr<DType>("T"));
    return OkStatus();
  }

 protected:
  LstmOptions options_;
  DType type_ = DType::kFloat;
};

class CellCpu : public LstmKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const LstmShape s, LstmShapeOf(ctx, 0, 2, options_.peephole));
    FloatOperands f(ctx, type_);
    ASSIGN_OR_RETURN(const float* x, f.Input(0));
    ASSIGN_OR_RETURN(const float* cs_prev, f.Input(1));
    ASSIGN_OR_RETURN(const float* h_prev, f.Input(2));
    ASSIGN_OR_RETURN(const LstmWeights weights, WeightsOf(f, 3));
    ASSIGN_OR_RETURN(const LstmState out, OutputState(f, Shape{s.batch, s.cells}));
    RETURN_IF_ERROR(compute::LstmStep(ctx.work(), s, options_, weights, x, cs_prev, h_prev, out));
    return f.Finish();
  }
};

class CellGradCpu : public LstmKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const LstmShape s, LstmShapeOf(ctx, 0, 2, options_.peephole));
    const Shape state{s.batch, s.cells};
    std::vector<Expected> all;
    for (int i = 8; i < 16; ++i) all.push_back({i, state});
    RETURN_IF_ERROR(CheckShapes(ctx, all));
    FloatOperands f(ctx, type_);
    ASSIGN_OR_RETURN(const float* cs_prev, f.Input(1));
    ASSIGN_OR_RETURN(const LstmWeights weights, WeightsOf(f, 3));
    ASSIGN_OR_RETURN(const LstmState in, InputState(f, 8, 6));
    ASSIGN_OR_RETURN(const float* cs_grad, f.Input(14));
    ASSIGN_OR_RETURN(const float* h_grad, f.Input(15));
    compute::LstmStepGrads out{};
    ASSIGN_OR_RETURN(out.cs_prev, f.Output(0, state));
    ASSIGN_OR_RETURN(out.gates, f.Output(1, Shape{s.batch, 4 * s.cells}));
    ASSIGN_OR_RETURN(out.wci, f.Output(2, Shape{s.cells}));
    ASSIGN_OR_RETURN(out.wcf, f.Output(3, Shape{s.cells}));
    ASSIGN_OR_RETURN(out.wco, f.Output(4, Shape{s.cells}));
    RETURN_IF_ERROR(
        compute::LstmStepGrad(ctx.work(), s, options_, weights, cs_prev, in, cs_grad, h_grad, out));
    return f.Finish();
  }
};

// The steps that are taken: seq_len_max, an input.
Result<int64_t> StepsOf(const Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t steps, IntScalar(ctx.input(0), "seq_len_max"));
  const int64_t time = ctx.input(1).rank() > 0 ? ctx.input(1).dim(0) : 0;
  if (steps >= 0 && steps <= time) return steps;
  return InvalidArgument("seq_len_max must be from 0 to the time dimension of x, ", time, ", got ",
                         steps);
}

class SequenceCpu : public LstmKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const LstmShape s, LstmShapeOf(ctx, 1, 3, options_.peephole));
    ASSIGN_OR_RETURN(const int64_t steps, StepsOf(ctx));
    FloatOperands f(ctx, type_);
    ASSIGN_OR_RETURN(const float* x, f.Input(1));
    ASSIGN_OR_RETURN(const float* cs, f.Input(2));
    ASSIGN_OR_RETURN(const float* h, f.Input(3));
    ASSIGN_OR_RETURN(const LstmWeights weights, WeightsOf(f, 4));
    ASSIGN_OR_RETURN(const LstmState out,
                     OutputState(f, Shape{ctx.input(1).dim(0), s.batch, s.cells}));
    for (int64_t t = 0; t < steps; ++t) {
      const LstmState now = At(out, t * s.state());
      RETURN_IF_ERROR(compute::LstmStep(ctx.work(), s, options_, weights,
                                        x + t * s.batch * s.inputs, cs, h, now));
      cs = now.cs;
      h = now.h;
    }
    return f.Finish();
  }
};

class SequenceV2Cpu : public SequenceCpu {
 public:
  SequenceV2Cpu() { options_.forget_third = false; }
};

// The gradients that the steps hand back, and what each adds up.
struct SequenceGrads {
  float *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;
};

class SequenceGradCpu : public LstmKernel {
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const LstmShape s, LstmShapeOf(ctx, 1, 3, options_.peephole));
    ASSIGN_OR_RETURN(const int64_t steps, StepsOf(ctx));
    std::vector<Expected> all;
    constexpr std::string_view kNames[] = {"i",  "cs", "f",       "o",     "ci",
                                           "co", "h",  "cs_grad", "h_grad"};
    for (int i = 9; i < 18; ++i) {
      const Shape& shape = ctx.input(i).shape();
      if (shape.rank() != 3) {
        return InvalidArgument(kNames[i - 9], " must be rank 3. Received: ", shape.rank(),
                               ", shape ", shape);
      }
      all.push_back({i, Shape{ctx.input(1).dim(0), s.batch, s.cells}});
    }
    RETURN_IF_ERROR(CheckShapes(ctx, all));
    FloatOperands f(ctx, type_);
    float* out[8];
    for (int i = 0; i < 8; ++i) {
      ASSIGN_OR_RETURN(out[i], f.Output(i, ctx.input(i + 1).shape()));
    }
    RETURN_IF_ERROR(
        Back(ctx, s, steps, f, {out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7]}));
    return f.Finish();
  }

  Status Back(Context& ctx, const LstmShape& s, int64_t steps, FloatOperands& f,
              const SequenceGrads& out) const {
    ASSIGN_OR_RETURN(const float* x, f.Input(1));
    ASSIGN_OR_RETURN(const float* first_cs, f.Input(2));
    ASSIGN_OR_RETURN(const float* first_h, f.Input(3));
    ASSIGN_OR_RETURN(const LstmWeights weights, WeightsOf(f, 4));
    ASSIGN_OR_RETURN(const LstmState states, InputState(f, 9, 7));
    ASSIGN_OR_RETURN(const float* cs_grads, f.Input(16));
    ASSIGN_OR_RETURN(const float* h_grads, f.Input(17));
    const int64_t n = s.state();
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemporary(DType::kFloat, Shape{6, n}));
    float *gates = scratch.mutable_data<float>(), *cs_grad = gates + 4 * n, *h_grad = cs_grad + n;
    const compute::LstmStepGrads step{gates, out.cs_prev, out.wci, out.wcf, out.wco};
    for (int64_t t = steps - 1; t >= 0; --t) {
      // What the step after this one left in cs_prev and h_prev belongs to this one's cs and h.
      for (int64_t k = 0; k < n; ++k) {
        cs_grad[k] = cs_grads[t * n + k] + out.cs_prev[k];
        h_grad[k] = h_grads[t * n + k] + out.h_prev[k];
      }
      const float* cs_prev = t == 0 ? first_cs : states.cs + (t - 1) * n;
      const float* h_prev = t == 0 ? first_h : states.h + (t - 1) * n;
      RETURN_IF_ERROR(compute::LstmStepGrad(ctx.work(), s, options_, weights, cs_prev,
                                            At(states, t * n), cs_grad, h_grad, step));
      const int64_t at = t * s.batch * s.inputs;
      RETURN_IF_ERROR(compute::LstmProductGrad(ctx.work(), s, weights.w, x + at, h_prev, gates,
                                               out.x + at, out.h_prev, out.w, out.b));
    }
    return OkStatus();
  }
};

class SequenceGradV2Cpu : public SequenceGradCpu {
 public:
  SequenceGradV2Cpu() { options_.forget_third = false; }
};

template <class K>
struct MadeLstm : K {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<MadeLstm<K>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
};

// x, h_prev, w_ru, w_c, b_ru, b_c.
Result<LstmShape> GruShapeOf(const Context& ctx) {
  const Shape &x = ctx.input(0).shape(), &state = ctx.input(1).shape();
  if (x.rank() != 2 || state.rank() != 2) {
    return InvalidArgument("x and h_prev must have 2 dimensions, got ", x.ToString(), " and ",
                           state.ToString());
  }
  const LstmShape s{x.dim(0), x.dim(1), state.dim(1)};
  RETURN_IF_ERROR(CheckShapes(ctx, {{1, Shape{s.batch, s.cells}},
                                    {2, Shape{s.joined(), 2 * s.cells}},
                                    {3, Shape{s.joined(), s.cells}},
                                    {4, Shape{2 * s.cells}},
                                    {5, Shape{s.cells}}}));
  return s;
}

Status GruCpu(Context& ctx) {
  ASSIGN_OR_RETURN(const LstmShape s, GruShapeOf(ctx));
  const auto in = [&](int i) { return ctx.input(i).data<float>(); };
  float* out[4];
  for (int i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, DType::kFloat, Shape{s.batch, s.cells}));
    out[i] = t->mutable_data<float>();
  }
  return compute::GruStep(ctx.work(), s, {in(2), in(3), in(4), in(5)}, in(0), in(1),
                          {out[0], out[1], out[2], out[3]});
}

Status GruGradCpu(Context& ctx) {
  ASSIGN_OR_RETURN(const LstmShape s, GruShapeOf(ctx));
  const Shape state{s.batch, s.cells};
  RETURN_IF_ERROR(CheckShapes(ctx, {{6, state}, {7, state}, {8, state}, {9, state}}));
  const auto in = [&](int i) { return const_cast<float*>(ctx.input(i).data<float>()); };
  const Shape shapes[] = {Shape{s.batch, s.inputs}, state, state, Shape{s.batch, 2 * s.cells}};
  float* out[4];
  for (int i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, DType::kFloat, shapes[i]));
    out[i] = t->mutable_data<float>();
  }
  return compute::GruStepGrad(ctx.work(), s, {in(2), in(3), in(4), in(5)}, in(1),
                              {in(6), in(7), in(8), nullptr}, in(9),
                              {out[0], out[1], out[2], out[3]});
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(block_cells, cpu) {
  constexpr KernelCost kCost = KernelCost::kExpensive;
  for (DType dtype : {DType::kFloat, DType::kHalf}) {
    const std::initializer_list<KernelType> types = {{"T", dtype}};
    registry.Add<MadeLstm<CellCpu>>("LSTMBlockCell", kCpu, types).Cost(kCost);
    registry.Add<MadeLstm<CellGradCpu>>("LSTMBlockCellGrad", kCpu, types).Cost(kCost);
    registry.Add<MadeLstm<SequenceCpu>>("BlockLSTM", kCpu, types).Cost(kCost);
    registry.Add<MadeLstm<SequenceV2Cpu>>("BlockLSTMV2", kCpu, types).Cost(kCost);
    registry.Add<MadeLstm<SequenceGradCpu>>("BlockLSTMGrad", kCpu, types).Cost(kCost);
    registry.Add<MadeLstm<SequenceGradV2Cpu>>("BlockLSTMGradV2", kCpu, types).Cost(kCost);
  }
  registry.AddFunction<GruCpu>("GRUBlockCell", kCpu, {{"T", DType::kFloat}}).Cost(kCost);
  registry.AddFunction<GruGradCpu>("GRUBlockCellGrad", kCpu, {{"T", DType::kFloat}}).Cost(kCost);
}
