// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/parsing/feature_batch.h"
#include "thalweg/ops/parsing/key_cache.h"

namespace thalweg {
namespace {

// Inputs: serialized, names, a scalar for each sparse and each dense key, the defaults.
class ParseExampleCpu : public Kernel {
 public:
  explicit ParseExampleCpu(ParsedColumns columns) : columns_(std::move(columns)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ParsedColumns columns,
                     ParsedColumns::Of(c, "sparse_types", "Tdense", "dense_shapes"));
    const int inputs = 2 + columns.num_sparse() + 2 * (columns.num_keys() - columns.num_sparse());
    if (c.node().num_inputs() != inputs) {
      return InvalidArgument("the numbers of keys and types differ: expected ", inputs,
                             " inputs, got ", c.node().num_inputs());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ParseExampleCpu>(std::move(columns)));
  }

  Status Compute(Context& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.rank() != 1) {
      return InvalidArgument("Expected serialized to be a vector, got shape: ", serialized.shape());
    }
    RETURN_IF_ERROR(CheckNames(names, serialized));
    for (int i = 2; i < 2 + columns_.num_keys(); ++i) {
      if (ctx.input(i).num_elements() == 1) continue;
      return InvalidArgument("Expected key ", i - 2,
                             " to be one string, got shape: ", ctx.input(i).shape());
    }
    const auto keys = keys_.Of(columns_.num_keys(), [&](int i) -> const std::string& {
      return ctx.input(2 + i).scalar<std::string>();
    });
    const auto texts = serialized.flat<std::string>();
    const ParseWords words(ParseWords::kExample, names.flat<std::string>(), texts.size());
    return ParseFeatures(ctx, columns_, {texts, *keys, words, 2 + columns_.num_keys()});
  }

  static Status CheckNames(const Tensor& names, const Tensor& serialized) {
    if (names.num_elements() == 0 || names.shape() == serialized.shape()) return OkStatus();
    return InvalidArgument("Expected names have the same shape as serialized: name.shape=",
                           names.shape(), ", serialized.shape=", serialized.shape());
  }

 private:
  const ParsedColumns columns_;
  KeyCache keys_;
};

// Inputs: serialized, names, the sparse, dense and ragged keys as vectors, the defaults.
class ParseExampleV2Cpu : public Kernel {
 public:
  explicit ParseExampleV2Cpu(ParsedColumns columns) : columns_(std::move(columns)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ParsedColumns columns,
                     ParsedColumns::Of(c, "sparse_types", "Tdense", "dense_shapes"));
    RETURN_IF_ERROR(columns.AddRagged(c, ""));
    ASSIGN_OR_RETURN(const int64_t num_sparse, c.Attr<int64_t>("num_sparse"));
    if (num_sparse != columns.num_sparse()) {
      return InvalidArgument("len(sparse_keys) != len(sparse_types): ", num_sparse, " and ",
                             columns.num_sparse());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ParseExampleV2Cpu>(std::move(columns)));
  }

  Status Compute(Context& ctx) override {
    const Tensor &serialized = ctx.input(0), &names = ctx.input(1);
    if (serialized.rank() > 1) {
      return InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                             serialized.shape());
    }
    RETURN_IF_ERROR(ParseExampleCpu::CheckNames(names, serialized));
    RETURN_IF_ERROR(CheckKeys(ctx.input(2), "sparse_keys", "num_sparse", columns_.sparse.size()));
    RETURN_IF_ERROR(CheckKeys(ctx.input(3), "dense_keys", "num_dense", columns_.dense.size()));
    RETURN_IF_ERROR(CheckKeys(ctx.input(4), "ragged_keys", "num_ragged", columns_.ragged.size()));
    const KeyVectors given(ctx, 2, 3);
    const auto keys = keys_.Of(given.size(), given);
    const auto texts = serialized.flat<std::string>();
    const bool single = serialized.rank() == 0;
    const ParseWords words(single ? ParseWords::kSingleExample : ParseWords::kExample,
                           names.flat<std::string>(), texts.size());
    return ParseFeatures(ctx, columns_, {texts, *keys, words, 5, single});
  }

 private:
  static Status CheckKeys(const Tensor& keys, const char* what, const char* number, size_t count) {
    if (keys.num_elements() == static_cast<int64_t>(count)) return OkStatus();
    return InvalidArgument("Expected len(", what, ") == ", number,
                           " but got: ", keys.num_elements(), " vs. ", count, ", shape ",
                           keys.shape());
  }

  const ParsedColumns columns_;
  KeyCache keys_;
};

class ParseSingleExampleCpu : public Kernel {
 public:
  ParseSingleExampleCpu(ParsedColumns columns, std::vector<std::string> keys)
      : columns_(std::move(columns)), keys_(std::move(keys)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(ParsedColumns columns,
                     ParsedColumns::Of(c, "sparse_types", "Tdense", "dense_shapes"));
    ASSIGN_OR_RETURN(auto keys, c.Attr<std::vector<std::string>>("sparse_keys"));
    ASSIGN_OR_RETURN(const int64_t num_sparse, c.Attr<int64_t>("num_sparse"));
    if (keys.size() != columns.sparse.size() || num_sparse != columns.num_sparse()) {
      return InvalidArgument("len(sparse_keys) != len(sparse_types): ", keys.size(), " and ",
                             columns.sparse.size(), "; num_sparse is ", num_sparse);
    }
    ASSIGN_OR_RETURN(const auto dense, c.Attr<std::vector<std::string>>("dense_keys"));
    if (dense.size() != columns.dense.size()) {
      return InvalidArgument("len(dense_keys) != len(dense_types): ", dense.size(), " and ",
                             columns.dense.size());
    }
    keys.insert(keys.end(), dense.begin(), dense.end());
    return std::unique_ptr<Kernel>(
        std::make_unique<ParseSingleExampleCpu>(std::move(columns), std::move(keys)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& serialized = ctx.input(0);
    if (serialized.rank() != 0) {
      return InvalidArgument("Expected serialized to be a scalar, got shape: ", serialized.shape());
    }
    const ParseWords words(ParseWords::kSingleExample, {}, 1);
    return ParseFeatures(ctx, columns_, {serialized.flat<std::string>(), keys_, words, 1, true});
  }

 private:
  const ParsedColumns columns_;
  const FeatureKeys keys_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(parse_example, cpu) {
  registry.Add<ParseExampleCpu>("ParseExample", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<ParseExampleV2Cpu>("ParseExampleV2", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<ParseSingleExampleCpu>("ParseSingleExample", kCpu);
}
