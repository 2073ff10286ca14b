// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/test_values.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Row `row` of [a, b] times column `column` of w, plus the bias.
double Dot(const double* a, int64_t a_width, const double* b, int64_t b_width,
           const Array<double>& w, int64_t column, double bias) {
  const int64_t width = w.shape.dim(1);
  double sum = bias;
  for (int64_t i = 0; i < a_width; ++i) sum += a[i] * w[i * width + column];
  for (int64_t i = 0; i < b_width; ++i) sum += b[i] * w[(a_width + i) * width + column];
  return sum;
}

// Inputs from `x` on: x, cs_prev, h_prev, w, wci, wcf, wco, b.
struct Lstm {
  const RefCall<double>& r;
  int first;
  int64_t batch, inputs, cells, steps;
  bool peephole, v2;

  Lstm(const RefCall<double>& call, int x, int64_t steps_taken)
      : r(call),
        first(x),
        batch(call.in[x + 1].shape.dim(0)),
        inputs(call.in[x].shape.dim(call.in[x].shape.rank() - 1)),
        cells(call.in[x + 1].shape.dim(1)),
        steps(steps_taken),
        peephole(call.Attr<bool>("use_peephole")),
        v2(call.node->op().def.name.ends_with("V2")) {}
  const Array<double>& in(int i) const { return r.in[first + i]; }
  // Where gate g of i, ci, f, o begins.
  int64_t gate(int g) const { return cells * (v2 && (g == 1 || g == 2) ? 3 - g : g); }
  double peep(int which, int64_t c) const { return peephole ? in(4 + which)[c] : 0; }

  // i, cs, f, o, ci, co, h over all steps.
  std::vector<Array<double>> Forward(const Shape& shape, double forget_bias, double clip) const {
    std::vector<Array<double>> out(7, Array<double>(shape));
    const int64_t n = batch * cells;
    for (int64_t t = 0; t < steps; ++t) {
      const double* cs_prev = t == 0 ? in(1).values.data() : out[1].values.data() + (t - 1) * n;
      const double* h_prev = t == 0 ? in(2).values.data() : out[6].values.data() + (t - 1) * n;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t row = k / cells, c = k % cells;
        double z[4];
        for (int g = 0; g < 4; ++g) {
          z[g] = Dot(in(0).values.data() + (t * batch + row) * inputs, inputs, h_prev + row * cells,
                     cells, in(3), gate(g) + c, in(7)[gate(g) + c]);
        }
        const double i = Sigmoid(z[0] + peep(0, c) * cs_prev[k]), ci = std::tanh(z[1]);
        const double f = Sigmoid(z[2] + forget_bias + peep(1, c) * cs_prev[k]);
        double cs = ci * i + f * cs_prev[k];
        if (clip > 0) cs = std::clamp(cs, -clip, clip);
        const double o = Sigmoid(z[3] + peep(2, c) * cs), co = std::tanh(cs);
        const double made[] = {i, cs, f, o, ci, co, co * o};
        for (int v = 0; v < 7; ++v) out[v][t * n + k] = made[v];
      }
    }
    return out;
  }

  // The values before the gates' functions by step: their gradients, from the states at inputs
  // `state` on (i, cs, f, o, ci, co) and what arrives at cs and h.
  struct CellGrads {
    double gates[4], cs_prev;
  };
  CellGrads Back(int state, int64_t k, double cs_prev, double cs_grad, double h_grad) const {
    const auto value = [&](int v) { return r.in[state + v][k]; };
    const int64_t c = k % cells;
    const double i = value(0), f = value(2), o = value(3), ci = value(4), co = value(5);
    const double d_o = h_grad * co * o * (1 - o);
    const double dcs = cs_grad + h_grad * o * (1 - co * co) + d_o * peep(2, c);
    CellGrads g{{dcs * ci * i * (1 - i), dcs * i * (1 - ci * ci), dcs * cs_prev * f * (1 - f), d_o},
                0};
    g.cs_prev = dcs * f + g.gates[0] * peep(0, c) + g.gates[2] * peep(1, c);
    return g;
  }
};

std::vector<In> Weights(int64_t inputs, int64_t cells) {
  return {In({inputs + cells, 4 * cells}).Range(-1, 1), In({cells}), In({cells}), In({cells}),
          In({4 * cells}).Range(-1, 1)};
}

std::vector<In> Joined(std::vector<In> a, const std::vector<In>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(BlockCellsTest, Cell) {
  const auto reference = [](RefCall<double>& r) {
    r.out = Lstm(r, 0, 1).Forward(r.in[1].shape, r.Attr<float>("forget_bias"),
                                  r.Attr<float>("cell_clip"));
  };
  OpCase("LSTMBlockCell")
      .Reference(reference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kCell, DType::kHalf))
      .GradOutputs({1, 6})
      .GradStep(1e-2, 3e-3)
      .Try(Joined({In({3, 4}), In({3, 5}), In({3, 5})}, Weights(4, 5)), {{"use_peephole", true}})
      .Try(Joined({In({0, 3}), In({0, 2}), In({0, 2})}, Weights(3, 2)))
      .Bad(Joined({In({3, 4}), In({3, 5}), In({3, 5})}, Weights(3, 5)), {}, Code::kInvalidArgument,
           "must have shape")
      .Bad(Joined({In({3, 4}), In({3, 5}), In({2, 5})}, Weights(4, 5)), {}, Code::kInvalidArgument,
           "must have shape")
      .Run();
  OpCase("LSTMBlockCell")
      .Reference(reference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kCell, DType::kHalf))
      .NoGradient("as in TensorFlow it does not stop where the cell is clipped")
      .Try(Joined({In({2, 3}), In({2, 1}), In({2, 1})}, Weights(3, 1)),
           {{"use_peephole", false}, {"cell_clip", 0.3f}, {"forget_bias", 0.5f}})
      .Run();
}

TEST(BlockCellsTest, CellGrad) {
  std::vector<In> states;
  for (int i = 0; i < 8; ++i) states.push_back(In({3, 5}).Range(-0.9, 0.9));
  OpCase("LSTMBlockCellGrad")
      .Reference([](RefCall<double>& r) {
        const Lstm lstm(r, 0, 1);
        const Shape cells{lstm.cells};
        r.out = {Array<double>(r.in[1].shape), Array<double>(Shape{lstm.batch, 4 * lstm.cells}),
                 Array<double>(cells), Array<double>(cells), Array<double>(cells)};
        for (int64_t k = 0; k < lstm.batch * lstm.cells; ++k) {
          const int64_t row = k / lstm.cells, c = k % lstm.cells;
          const auto g = lstm.Back(8, k, r.in[1][k], r.in[14][k], r.in[15][k]);
          r.out[0][k] = g.cs_prev;
          for (int gate = 0; gate < 4; ++gate) {
            r.out[1].At({row, lstm.gate(gate) + c}) = g.gates[gate];
          }
          if (!lstm.peephole) continue;
          r.out[2][c] += g.gates[0] * r.in[1][k];
          r.out[3][c] += g.gates[2] * r.in[1][k];
          r.out[4][c] += g.gates[3] * r.in[9][k];
        }
      })
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kCell, DType::kHalf))
      .Try(Joined(Joined({In({3, 4}), In({3, 5}), In({3, 5})}, Weights(4, 5)), states),
           {{"use_peephole", true}})
      .Try(Joined(Joined({In({3, 4}), In({3, 5}), In({3, 5})}, Weights(4, 5)), states),
           {{"use_peephole", false}})
      .Bad(Joined(Joined({In({2, 4}), In({2, 5}), In({2, 5})}, Weights(4, 5)), states),
           {{"use_peephole", false}}, Code::kInvalidArgument, "must have shape")
      .Run();
}

std::vector<In> Sequence(int64_t time, int64_t steps, int64_t batch, int64_t inputs,
                         int64_t cells) {
  return Joined({In({}, {static_cast<double>(steps)}), In({time, batch, inputs}),
                 In({batch, cells}), In({batch, cells})},
                Weights(inputs, cells));
}

TEST(BlockCellsTest, Sequence) {
  for (const bool v2 : {false, true}) {
    OpCase(v2 ? "BlockLSTMV2" : "BlockLSTM")
        .Reference([v2](RefCall<double>& r) {
          const Shape& x = r.in[1].shape;
          const Lstm lstm(r, 1, static_cast<int64_t>(r.in[0][0]));
          r.out = lstm.Forward(Shape{x.dim(0), x.dim(1), lstm.cells},
                               v2 ? 0 : r.Attr<float>("forget_bias"), r.Attr<float>("cell_clip"));
        })
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kCell, DType::kHalf))
        .GradInputs({1, 2, 3, 4, 5, 6, 7, 8})
        .GradOutputs({1, 6})
        .GradStep(1e-2, 2e-3)
        .Try(Sequence(3, 3, 2, 3, 2), {{"use_peephole", true}, {"cell_clip", 50.0f}})
        .Try(Sequence(4, 2, 3, 2, 5), {{"use_peephole", false}, {"cell_clip", 50.0f}})
        .Bad(Sequence(3, 4, 2, 3, 2), {}, Code::kInvalidArgument, "seq_len_max")
        .Bad(Sequence(3, -1, 2, 3, 2), {}, Code::kInvalidArgument, "seq_len_max")
        .Run();
  }
}

// As the recorded runs of TensorFlow 2.21 made theirs.
Tensor Numbers(const Shape& shape, double step, int64_t factor = 7, int64_t modulus = 11) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<float>(static_cast<double>(i * factor % modulus - 5) * step));
  }
  return Tensor::Of<float>(values, shape);
}

Tensor Filled(const Shape& shape, float value) {
  const std::vector<float> values(static_cast<size_t>(shape.num_elements()), value);
  return Tensor::Of<float>(values, shape);
}

void ExpectNumbers(const Tensor& found, const std::vector<float>& expected) {
  ASSERT_GE(found.num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.data<float>()[i], expected[i], 2e-5) << i;
  }
}

// Clipped, two steps of three, with peepholes.
TEST(BlockCellsTest, SequenceAgainstTensorFlow) {
  const Tensor steps = Tensor::Scalar<int64_t>(2), x = Numbers(Shape{3, 2, 2}, 0.1);
  std::vector<Tensor> inputs = {steps,
                                x,
                                Numbers(Shape{2, 2}, 0.2),
                                Numbers(Shape{2, 2}, 0.3, 5),
                                Numbers(Shape{4, 8}, 0.1, 3, 13),
                                Numbers(Shape{2}, 0.2, 3),
                                Numbers(Shape{2}, 0.1, 4),
                                Numbers(Shape{2}, 0.3, 6),
                                Numbers(Shape{8}, 0.1, 4, 9)};
  const auto out = *RunOp("BlockLSTM", inputs,
                          {{"use_peephole", true}, {"cell_clip", 0.4f}, {"forget_bias", 1.0f}});
  ExpectNumbers(out[6], {-0.292634f, 0.043927f, -0.169112f, 0.157064f, -0.097762f, -0.012f,
                         -0.131736f, 0.095173f, 0, 0, 0, 0});
  ExpectNumbers(out[1], {-0.395612f, 0.106542f, -0.398113f, 0.4f, -0.15589f, -0.029783f, -0.207756f,
                         0.220155f, 0, 0, 0, 0});
  for (const Tensor& t : out) inputs.push_back(t);
  inputs.push_back(Filled(Shape{3, 2, 2}, 1));
  inputs.push_back(Filled(Shape{3, 2, 2}, 2));
  const auto grads = *RunOp("BlockLSTMGrad", inputs, {{"use_peephole", true}});
  ExpectNumbers(grads[0], {-0.52849f, -0.13444f, 0.67942f, -0.25216f, 0.16377f, 0.15303f, 0.2007f,
                           0.05636f, 0, 0, 0, 0});
  ExpectNumbers(grads[1], {2.77062f, 1.30777f, 3.51149f, 2.04241f});
  ExpectNumbers(grads[2], {-0.35656f, -0.87823f, -0.58834f, -1.67367f});
  ExpectNumbers(grads[3], {-0.19145f, 0.07492f, -0.84579f, -0.18497f, 0.36481f, -0.16049f});
  ExpectNumbers(grads[4], {-0.71975f, -0.16811f});
  ExpectNumbers(grads[5], {0.9796f, 0.66633f});
  ExpectNumbers(grads[6], {0.14645f, 0.07859f});
  ExpectNumbers(grads[7], {0.92041f, -0.37509f, 5.85265f, 3.52931f});
}

TEST(BlockCellsTest, Gru) {
  OpCase("GRUBlockCell")
      .Reference([](RefCall<double>& r) {
        const int64_t batch = r.in[0].shape.dim(0), inputs = r.in[0].shape.dim(1);
        const int64_t cells = r.in[1].shape.dim(1);
        for (int i = 0; i < 4; ++i) r.out.emplace_back(r.in[1].shape);
        for (int64_t row = 0; row < batch; ++row) {
          const double *x = r.in[0].values.data() + row * inputs,
                       *h = r.in[1].values.data() + row * cells;
          std::vector<double> reset(static_cast<size_t>(cells));
          for (int64_t c = 0; c < cells; ++c) {
            const int64_t k = row * cells + c;
            r.out[0][k] = Sigmoid(Dot(x, inputs, h, cells, r.in[2], c, r.in[4][c]));
            r.out[1][k] = Sigmoid(Dot(x, inputs, h, cells, r.in[2], cells + c, r.in[4][cells + c]));
            reset[static_cast<size_t>(c)] = h[c] * r.out[0][k];
          }
          for (int64_t c = 0; c < cells; ++c) {
            const int64_t k = row * cells + c;
            const double z = Dot(x, inputs, reset.data(), cells, r.in[3], c, r.in[5][c]);
            r.out[2][k] = std::tanh(z);
            r.out[3][k] = (1 - r.out[1][k]) * r.out[2][k] + r.out[1][k] * h[c];
          }
        }
      })
      .GradOutputs({3})
      .GradStep(1e-2, 2e-3)
      .Try({In({3, 4}), In({3, 5}), In({9, 10}), In({9, 5}), In({10}), In({5})})
      .Try({In({0, 4}), In({0, 5}), In({9, 10}), In({9, 5}), In({10}), In({5})})
      .Bad({In({3, 4}), In({3, 5}), In({9, 10}), In({8, 5}), In({10}), In({5})}, {},
           Code::kInvalidArgument, "must have shape")
      .Run();
  ExpectError("GRUBlockCellGrad",
              {Numbers(Shape{2, 2}, 0.1), Numbers(Shape{2, 2}, 0.3), Numbers(Shape{4}, 0.1),
               Numbers(Shape{4, 2}, 0.2), Numbers(Shape{4}, 0.1), Numbers(Shape{2}, 0.1),
               Numbers(Shape{2, 2}, 0.1), Numbers(Shape{2, 2}, 0.1), Numbers(Shape{2, 2}, 0.1),
               Numbers(Shape{2, 2}, 0.1)},
              {}, Code::kInvalidArgument, "Shape must be rank 2 but is rank 1 for ");
}

TEST(BlockCellsTest, GruAgainstTensorFlow) {
  std::vector<Tensor> inputs = {Numbers(Shape{2, 2}, 0.1),        Numbers(Shape{2, 2}, 0.3, 5),
                                Numbers(Shape{4, 4}, 0.1, 3, 13), Numbers(Shape{4, 2}, 0.2, 5, 13),
                                Numbers(Shape{4}, 0.1),           Numbers(Shape{2}, 0.3)};
  const auto out = *RunOp("GRUBlockCell", inputs);
  ExpectNumbers(out[3], {-1.103305f, -0.039035f, 0.428228f, 0.068582f});
  for (int i = 0; i < 3; ++i) inputs.push_back(out[static_cast<size_t>(i)]);
  inputs.push_back(Filled(Shape{2, 2}, 2));
  const auto grads = *RunOp("GRUBlockCellGrad", inputs);
  ExpectNumbers(grads[0], {-0.264289f, -0.413699f, -1.211017f, 0.917742f});
  ExpectNumbers(grads[1], {1.135359f, 1.356964f, 1.107338f, 1.194137f});
  ExpectNumbers(grads[2], {0.468205f, 0.963726f, 1.006014f, 0.090017f});
  ExpectNumbers(grads[3],
                {-0.451043f, 0, -0.376877f, 0.040205f, 0.17574f, 0.009382f, 0.906965f, -0.514883f});
  inputs[9] = Filled(Shape{2, 3}, 2);
  EXPECT_EQ(RunOp("GRUBlockCellGrad", inputs).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
