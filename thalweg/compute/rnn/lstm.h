// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks: one step of an LSTM or GRU over a batch, and its gradient. The
// products go through Gemm, the rest is one pass over the cells.
//
//   LstmShape shape{.batch = 20, .inputs = 650, .cells = 650};
//   RETURN_IF_ERROR(LstmStep(work, shape, {}, weights, x, cs_prev, h_prev, out));
//
// LSTM: [i, ci, f, o] = [x, h_prev] * w + b; i, f, o pass a sigmoid, ci a tanh; cs = ci * i +
// cs_prev * f, clipped; h = tanh(cs) * o. GRU: [r, u] = sigmoid([x, h_prev] * w_ru + b_ru), c =
// tanh([x, h_prev * r] * w_c + b_c), h = (1 - u) * c + u * h_prev. All float, dense, row by row.
// Bits do not depend on the number of threads.
// Ownership: operands are the caller's; gradients of weights are added to.
// Threads: any, each with its own Work.
// Errors: those of work.h.
#pragma once

#include "thalweg/compute/work.h"

namespace thalweg::compute {

struct LstmShape {
  int64_t batch = 0, inputs = 0, cells = 0;
  int64_t joined() const { return inputs + cells; }
  int64_t state() const { return batch * cells; }
};

struct LstmOptions {
  float forget_bias = 0;     // added to f before its sigmoid
  float cell_clip = 0;       // above 0: cs stays within it
  bool peephole = false;     // wci, wcf, wco take part
  bool forget_third = true;  // order of the gates: i, ci, f, o; else i, f, ci, o
};

struct LstmWeights {
  const float* w;                // [inputs + cells, 4 * cells]
  const float *wci, *wcf, *wco;  // [cells]; read with a peephole only
  const float* b;                // [4 * cells]
};

// [batch, cells] each.
struct LstmState {
  float *i, *cs, *f, *o, *ci, *co, *h;
};

Status LstmStep(Work& work, const LstmShape& shape, const LstmOptions& options,
                const LstmWeights& weights, const float* x, const float* cs_prev,
                const float* h_prev, const LstmState& out);

// What the gradient of a step leaves. gates: [batch, 4 * cells], by the values before sigmoid and
// tanh, in the order of the options.
struct LstmStepGrads {
  float* gates;
  float* cs_prev;          // [batch, cells]
  float *wci, *wcf, *wco;  // [cells], added to; untouched without a peephole
};
Status LstmStepGrad(Work& work, const LstmShape& shape, const LstmOptions& options,
                    const LstmWeights& weights, const float* cs_prev, const LstmState& state,
                    const float* cs_grad, const float* h_grad, const LstmStepGrads& out);

// From the gates' gradients on: x_grad [batch, inputs], h_prev_grad [batch, cells]; w_grad and
// b_grad are added to.
Status LstmProductGrad(Work& work, const LstmShape& shape, const float* w, const float* x,
                       const float* h_prev, const float* gates, float* x_grad, float* h_prev_grad,
                       float* w_grad, float* b_grad);

struct GruWeights {
  const float *w_ru, *w_c;  // [inputs + cells, 2 * cells], [inputs + cells, cells]
  const float *b_ru, *b_c;
};
struct GruState {
  float *r, *u, *c, *h;
};
Status GruStep(Work& work, const LstmShape& shape, const GruWeights& weights, const float* x,
               const float* h_prev, const GruState& out);

struct GruGrads {
  float *x, *h_prev, *c_bar, *r_bar_u_bar;
};
Status GruStepGrad(Work& work, const LstmShape& shape, const GruWeights& weights,
                   const float* h_prev, const GruState& state, const float* h_grad,
                   const GruGrads& out);

}  // namespace thalweg::compute
