// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>
#include <type_traits>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"
#include "thalweg/tensor/row_splits.h"

namespace thalweg {
namespace {

struct CountRules {
  int64_t min_length = -1, max_length = -1;  // of a row of counts; -1: as its values ask
  bool binary = false;                       // 1 for what occurs at all
};

// The values of input `values`, added up by row and value.
template <class W>
class Counts {
 public:
  Counts(Context& ctx, const CountRules& rules, const Tensor& values, const Tensor& weights)
      : rules_(rules), values_(values), weights_(weights), looks_(ctx.work()) {}

  Status Check() const {
    if (weights_.rank() > 0 && weights_.num_elements() == 0) return OkStatus();
    if (weights_.shape() == values_.shape()) return OkStatus();
    return InvalidArgument("Weights and values must have the same shape. Weight shape: ",
                           weights_.shape(), "; values shape: ", values_.shape());
  }
  Status Add(int64_t row, int64_t i) {
    RETURN_IF_ERROR(looks_.Did());
    const int64_t value = IntAt(values_, i);
    if (value < 0) return InvalidArgument("Input values must all be non-negative, got ", value);
    if (rules_.max_length >= 0 && value >= rules_.max_length) return OkStatus();
    largest_ = std::max(largest_, value);
    W& count = counts_[{row, value}];
    if (rules_.binary) {
      count = W{1};
    } else if (weights_.num_elements() == 0) {
      count = Sum(count, W{1});
    } else {
      count = Sum(count, weights_.data<W>()[i]);
    }
    return OkStatus();
  }
  // `rows` below zero: the counts are a vector.
  Status SetOutputs(Context& ctx, int64_t rows) const {
    int64_t length = rules_.max_length;
    if (length < 0) {
      if (largest_ == std::numeric_limits<int64_t>::max()) {
        return InvalidArgument("the value ", largest_, " is too large to be counted");
      }
      length = std::max(largest_ + 1, rules_.min_length);
    }
    const int rank = rows < 0 ? 1 : 2;
    const auto n = static_cast<int64_t>(counts_.size());
    std::vector<int64_t> places;
    std::vector<W> sums;
    for (const auto& [place, sum] : counts_) {
      if (rank == 2) places.push_back(place.first);
      places.push_back(place.second);
      sums.push_back(sum);
    }
    ctx.set_output(0, IndexMatrix(places, rank, n));
    ctx.set_output(1, Tensor::Of<W>(sums, Shape{n}));
    ctx.set_output(
        2, rank == 1 ? Tensor::Vector<int64_t>({length}) : Tensor::Vector<int64_t>({rows, length}));
    return OkStatus();
  }

 private:
  static W Sum(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }

  const CountRules rules_;
  const Tensor values_, weights_;
  std::map<std::pair<int64_t, int64_t>, W> counts_;
  int64_t largest_ = 0;
  compute::CancelLooks looks_;
};

template <class W>
Status CountDense(Context& ctx, const CountRules& rules) {
  const Tensor& values = ctx.input(0);
  if (values.rank() != 1 && values.rank() != 2) {
    return InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ", values.shape());
  }
  Counts<W> counts(ctx, rules, values, ctx.input(1));
  RETURN_IF_ERROR(counts.Check());
  const int64_t width = values.dim(values.rank() - 1);
  for (int64_t i = 0; i < values.num_elements(); ++i) RETURN_IF_ERROR(counts.Add(i / width, i));
  return counts.SetOutputs(ctx, values.rank() == 1 ? -1 : values.dim(0));
}

template <class W>
Status CountSparse(Context& ctx, const CountRules& rules) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  if (input.rank() == 0) {
    return InvalidArgument("The shape argument requires at least one element.");
  }
  const bool is_vector = input.rank() == 1;
  const int64_t rows = is_vector ? -1 : input.shape().dim(0);
  if (rows == 0) return InvalidArgument("dense_shape has no rows to count in: ", input.shape());
  Counts<W> counts(ctx, rules, input.values(), ctx.input(3));
  RETURN_IF_ERROR(counts.Check());
  for (int64_t i = 0; i < input.count(); ++i) {
    RETURN_IF_ERROR(counts.Add(is_vector ? 0 : input.row(i)[0], i));
  }
  return counts.SetOutputs(ctx, rows);
}

template <class W>
Status CountRagged(Context& ctx, const CountRules& rules) {
  const Tensor &splits = ctx.input(0), &values = ctx.input(1);
  if (splits.rank() == 1 && splits.dim(0) < 2) {
    return InvalidArgument("Must provide at least 2 elements for the splits, got ", splits.dim(0));
  }
  ASSIGN_OR_RETURN(const Splits split, SplitsOf(splits, values.num_elements(), Cover::kWhole));
  Counts<W> counts(ctx, rules, values, ctx.input(2));
  RETURN_IF_ERROR(counts.Check());
  const size_t rows = split.size() - 1;
  for (size_t row = 0; row < rows; ++row) {
    for (int64_t i = split[row]; i < split[row + 1]; ++i) {
      RETURN_IF_ERROR(counts.Add(static_cast<int64_t>(row), i));
    }
  }
  return counts.SetOutputs(ctx, static_cast<int64_t>(rows));
}

template <class W>
class CountCpu : public Kernel {
 public:
  using Function = Status (*)(Context&, const CountRules&);
  CountCpu(CountRules rules, Function count) : rules_(rules), count_(count) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    CountRules rules;
    ASSIGN_OR_RETURN(rules.min_length, c.Attr<int64_t>("minlength"));
    ASSIGN_OR_RETURN(rules.max_length, c.Attr<int64_t>("maxlength"));
    ASSIGN_OR_RETURN(rules.binary, c.Attr<bool>("binary_output"));
    const std::string& op = c.node().op_name();
    const Function count = op == "SparseCountSparseOutput"   ? CountSparse<W>
                           : op == "RaggedCountSparseOutput" ? CountRagged<W>
                                                             : CountDense<W>;
    return std::unique_ptr<Kernel>(std::make_unique<CountCpu<W>>(rules, count));
  }
  Status Compute(Context& ctx) override { return count_(ctx, rules_); }

 private:
  const CountRules rules_;
  const Function count_;
};

}  // namespace
}  // namespace thalweg

// The schema allows these types of counts only.
THALWEG_KERNEL(sparse_count, cpu) {
  ForEachType<Types<int32_t, int64_t, float, double>>([&]<class W>() {
    for (const char* name :
         {"DenseCountSparseOutput", "RaggedCountSparseOutput", "SparseCountSparseOutput"}) {
      registry.Add<CountCpu<W>>(name, kCpu, {{"output_type", kDTypeOf<W>}});
    }
  });
}
