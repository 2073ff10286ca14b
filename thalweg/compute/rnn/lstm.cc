// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/rnn/lstm.h"

#include <algorithm>
#include <cmath>

#include "thalweg/compute/gemm/gemm.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 4096;  // cells of a shard

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// [a, b] row by row.
void Join(int64_t rows, int64_t a_width, const float* a, int64_t b_width, const float* b,
          float* joined) {
  for (int64_t r = 0; r < rows; ++r) {
    float* to = joined + r * (a_width + b_width);
    std::copy_n(a + r * a_width, a_width, to);
    std::copy_n(b + r * b_width, b_width, to + a_width);
  }
}

Status Product(Work& work, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
               float* c, const GemmEpilogue& epilogue = {}, Transpose ta = Transpose::kNo,
               Transpose tb = Transpose::kNo) {
  return Gemm(work, DType::kFloat, GemmShape::Dense(m, n, k, ta, tb), a, b, c, epilogue);
}

// body(batch row, cell, index of both) for all cells.
template <class Body>
Status ForCells(Work& work, const LstmShape& s, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.cells));
  return ForBlocks(work, s.batch, grain, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      for (int64_t c = 0; c < s.cells; ++c) body(row, c, row * s.cells + c);
    }
  });
}

// Where the gates of one row begin.
struct Gates {
  Gates(const LstmShape& s, const LstmOptions& o)
      : width(4 * s.cells),
        ci(o.forget_third ? s.cells : 2 * s.cells),
        f(o.forget_third ? 2 * s.cells : s.cells),
        o(3 * s.cells) {}
  int64_t width, ci, f, o;
};

}  // namespace

Status LstmStep(Work& work, const LstmShape& s, const LstmOptions& options,
                const LstmWeights& weights, const float* x, const float* cs_prev,
                const float* h_prev, const LstmState& out) {
  Scratch<float> joined(work, s.batch * s.joined()), gates(work, 4 * s.state());
  if (!joined || !gates) return OutOfScratch();
  Join(s.batch, s.inputs, x, s.cells, h_prev, joined.get());
  RETURN_IF_ERROR(Product(work, s.batch, 4 * s.cells, s.joined(), joined.get(), weights.w,
                          gates.get(), {.bias = weights.b}));
  const Gates at(s, options);
  return ForCells(work, s, [&](int64_t row, int64_t c, int64_t k) {
    const float* gate = gates.get() + row * at.width + c;
    const float before = cs_prev[k];
    float i = gate[0], f = gate[at.f] + options.forget_bias, o = gate[at.o];
    if (options.peephole) {
      i += before * weights.wci[c];
      f += before * weights.wcf[c];
    }
    out.i[k] = Sigmoid(i);
    out.f[k] = Sigmoid(f);
    out.ci[k] = std::tanh(gate[at.ci]);
    float cs = out.ci[k] * out.i[k] + before * out.f[k];
    if (options.cell_clip > 0) cs = std::clamp(cs, -options.cell_clip, options.cell_clip);
    if (options.peephole) o += cs * weights.wco[c];
    out.cs[k] = cs;
    out.o[k] = Sigmoid(o);
    out.co[k] = std::tanh(cs);
    out.h[k] = out.co[k] * out.o[k];
  });
}

Status LstmStepGrad(Work& work, const LstmShape& s, const LstmOptions& options,
                    const LstmWeights& weights, const float* cs_prev, const LstmState& state,
                    const float* cs_grad, const float* h_grad, const LstmStepGrads& out) {
  const Gates at(s, options);
  RETURN_IF_ERROR(ForCells(work, s, [&](int64_t row, int64_t c, int64_t k) {
    const float i = state.i[k], f = state.f[k], o = state.o[k], ci = state.ci[k];
    const float co = state.co[k], dh = h_grad[k];
    float* gate = out.gates + row * at.width + c;
    const float d_o = o * (1 - o) * dh * co;
    float dcs = (1 - co * co) * dh * o + cs_grad[k];
    if (options.peephole) dcs += d_o * weights.wco[c];
    const float di = i * (1 - i) * dcs * ci, df = f * (1 - f) * dcs * cs_prev[k];
    gate[0] = di;
    gate[at.ci] = (1 - ci * ci) * dcs * i;
    gate[at.f] = df;
    gate[at.o] = d_o;
    out.cs_prev[k] = dcs * f;
    if (options.peephole) out.cs_prev[k] += di * weights.wci[c] + df * weights.wcf[c];
  }));
  for (int64_t row = 0; row < s.batch && options.peephole; ++row) {
    const float* gate = out.gates + row * at.width;
    for (int64_t c = 0; c < s.cells; ++c) {
      const int64_t k = row * s.cells + c;
      out.wci[c] += gate[c] * cs_prev[k];
      out.wcf[c] += gate[at.f + c] * cs_prev[k];
      out.wco[c] += gate[at.o + c] * state.cs[k];
    }
  }
  return OkStatus();
}

Status LstmProductGrad(Work& work, const LstmShape& s, const float* w, const float* x,
                       const float* h_prev, const float* gates, float* x_grad, float* h_prev_grad,
                       float* w_grad, float* b_grad) {
  Scratch<float> joined(work, s.batch * s.joined());
  if (!joined) return OutOfScratch();
  const int64_t width = 4 * s.cells;
  RETURN_IF_ERROR(Product(work, s.batch, s.joined(), width, gates, w, joined.get(), {},
                          Transpose::kNo, Transpose::kYes));
  for (int64_t row = 0; row < s.batch; ++row) {
    const float* from = joined.get() + row * s.joined();
    std::copy_n(from, s.inputs, x_grad + row * s.inputs);
    std::copy_n(from + s.inputs, s.cells, h_prev_grad + row * s.cells);
    for (int64_t i = 0; i < width; ++i) b_grad[i] += gates[row * width + i];
  }
  Join(s.batch, s.inputs, x, s.cells, h_prev, joined.get());
  return Product(work, s.joined(), width, s.batch, joined.get(), gates, w_grad,
                 {.residual = w_grad}, Transpose::kYes);
}

Status GruStep(Work& work, const LstmShape& s, const GruWeights& weights, const float* x,
               const float* h_prev, const GruState& out) {
  Scratch<float> joined(work, s.batch * s.joined()), both(work, 2 * s.state()),
      reset(work, s.state());
  if (!joined || !both || !reset) return OutOfScratch();
  Join(s.batch, s.inputs, x, s.cells, h_prev, joined.get());
  RETURN_IF_ERROR(Product(work, s.batch, 2 * s.cells, s.joined(), joined.get(), weights.w_ru,
                          both.get(), {.bias = weights.b_ru}));
  RETURN_IF_ERROR(ForCells(work, s, [&](int64_t row, int64_t c, int64_t k) {
    out.r[k] = Sigmoid(both[row * 2 * s.cells + c]);
    out.u[k] = Sigmoid(both[row * 2 * s.cells + s.cells + c]);
    reset[k] = h_prev[k] * out.r[k];
  }));
  Join(s.batch, s.inputs, x, s.cells, reset.get(), joined.get());
  RETURN_IF_ERROR(Product(work, s.batch, s.cells, s.joined(), joined.get(), weights.w_c, out.c,
                          {.bias = weights.b_c}));
  return ForCells(work, s, [&](int64_t, int64_t, int64_t k) {
    out.c[k] = std::tanh(out.c[k]);
    out.h[k] = (1 - out.u[k]) * out.c[k] + out.u[k] * h_prev[k];
  });
}

Status GruStepGrad(Work& work, const LstmShape& s, const GruWeights& weights, const float* h_prev,
                   const GruState& state, const float* h_grad, const GruGrads& out) {
  Scratch<float> by_c(work, s.batch * s.joined()), by_ru(work, s.batch * s.joined());
  if (!by_c || !by_ru) return OutOfScratch();
  RETURN_IF_ERROR(ForCells(work, s, [&](int64_t, int64_t, int64_t k) {
    out.c_bar[k] = h_grad[k] * (1 - state.u[k]) * (1 - state.c[k] * state.c[k]);
  }));
  RETURN_IF_ERROR(Product(work, s.batch, s.joined(), s.cells, out.c_bar, weights.w_c, by_c.get(),
                          {}, Transpose::kNo, Transpose::kYes));
  RETURN_IF_ERROR(ForCells(work, s, [&](int64_t row, int64_t c, int64_t k) {
    const float r = state.r[k], u = state.u[k];
    const float reset = by_c[row * s.joined() + s.inputs + c];  // by h_prev * r
    float* bars = out.r_bar_u_bar + row * 2 * s.cells + c;
    bars[0] = reset * h_prev[k] * r * (1 - r);
    bars[s.cells] = h_grad[k] * (h_prev[k] - state.c[k]) * u * (1 - u);
  }));
  RETURN_IF_ERROR(Product(work, s.batch, s.joined(), 2 * s.cells, out.r_bar_u_bar, weights.w_ru,
                          by_ru.get(), {}, Transpose::kNo, Transpose::kYes));
  for (int64_t row = 0; row < s.batch; ++row) {
    const float *c = by_c.get() + row * s.joined(), *ru = by_ru.get() + row * s.joined();
    for (int64_t i = 0; i < s.inputs; ++i) out.x[row * s.inputs + i] = c[i] + ru[i];
    for (int64_t i = 0; i < s.cells; ++i) {
      const int64_t k = row * s.cells + i;
      out.h_prev[k] = c[s.inputs + i] * state.r[k] + ru[s.inputs + i] + h_grad[k] * state.u[k];
    }
  }
  return OkStatus();
}

}  // namespace thalweg::compute
