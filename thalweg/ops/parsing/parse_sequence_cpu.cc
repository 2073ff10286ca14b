// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/ops/parsing/key_cache.h"
#include "thalweg/ops/parsing/list_batch.h"

namespace thalweg {
namespace {

struct SequenceColumns {
  ParsedColumns context;
  ListColumns lists;

  static Result<SequenceColumns> Of(const KernelConstruction& c) {
    SequenceColumns columns;
    ASSIGN_OR_RETURN(columns.context, ParsedColumns::Of(c, "context_sparse_types", "Tcontext_dense",
                                                        "context_dense_shapes"));
    ASSIGN_OR_RETURN(columns.lists, ListColumns::Of(c));
    for (const DenseColumn& column : columns.context.dense) {
      if (column.is_variable) {
        return InvalidArgument("Shape ", column.shape, " is not fully defined");
      }
    }
    return columns;
  }
};

// What the three operations do once they have their keys.
struct SequenceCall {
  const SequenceColumns& columns;
  const FeatureKeys& context_keys;
  const FeatureKeys& list_keys;
  const std::vector<bool>& may_be_absent;
  const Tensor& names;
  ParseWords::Form form;
  int first_default;

  Status Parse(Context& ctx) const {
    const auto texts = ctx.input(0).flat<std::string>();
    const bool single = ctx.input(0).rank() == 0;
    if (names.num_elements() != 0 && names.num_elements() != static_cast<int64_t>(texts.size())) {
      return InvalidArgument("example_names must be empty or have the correct number of elements, ",
                             texts.size(), "; got ", names.num_elements());
    }
    const ParseWords words(form, names.flat<std::string>(), texts.size());
    RETURN_IF_ERROR(
        ParseFeatures(ctx, columns.context, {texts, context_keys, words, first_default, single}));
    return ParseLists(
        ctx, columns.lists,
        {texts, list_keys, words, may_be_absent, columns.context.num_outputs(), single});
  }
};

Result<FeatureKeys> KeysOf(const KernelConstruction& c, const char* sparse, const char* dense,
                           const ParsedColumns& columns) {
  ASSIGN_OR_RETURN(auto keys, c.Attr<std::vector<std::string>>(sparse));
  ASSIGN_OR_RETURN(const auto more, c.Attr<std::vector<std::string>>(dense));
  if (keys.size() != columns.sparse.size() || more.size() != columns.dense.size()) {
    return InvalidArgument("the numbers of keys and types differ: ", sparse, " has ", keys.size(),
                           " for ", columns.sparse.size(), " types, ", dense, " ", more.size(),
                           " for ", columns.dense.size());
  }
  keys.insert(keys.end(), more.begin(), more.end());
  return FeatureKeys(std::move(keys));
}

std::vector<bool> Absent(const FeatureKeys& keys, const ParsedColumns& columns,
                         std::span<const std::string> assumed_empty) {
  std::vector<bool> absent;
  for (size_t i = 0; i < columns.dense.size(); ++i) {
    const std::string& key = keys.key(columns.num_sparse() + static_cast<int>(i));
    absent.push_back(std::find(assumed_empty.begin(), assumed_empty.end(), key) !=
                     assumed_empty.end());
  }
  return absent;
}

// Inputs: serialized, names, the defaults of the context.
class ParseSequenceExampleCpu : public Kernel {
 public:
  ParseSequenceExampleCpu(SequenceColumns columns, FeatureKeys context, FeatureKeys lists,
                          std::vector<bool> absent)
      : columns_(std::move(columns)),
        context_(std::move(context)),
        lists_(std::move(lists)),
        absent_(std::move(absent)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(SequenceColumns columns, SequenceColumns::Of(c));
    ASSIGN_OR_RETURN(FeatureKeys context,
                     KeysOf(c, "context_sparse_keys", "context_dense_keys", columns.context));
    ASSIGN_OR_RETURN(FeatureKeys lists, KeysOf(c, "feature_list_sparse_keys",
                                               "feature_list_dense_keys", columns.lists.features));
    ASSIGN_OR_RETURN(const auto assumed,
                     c.Attr<std::vector<std::string>>("feature_list_dense_missing_assumed_empty"));
    std::vector<bool> absent = Absent(lists, columns.lists.features, assumed);
    const int outputs = columns.context.num_outputs() + columns.lists.features.num_outputs() +
                        static_cast<int>(columns.lists.features.dense.size());
    if (c.node().num_outputs() != outputs) {
      return InvalidArgument("the numbers of keys and types differ: expected ", outputs,
                             " outputs, got ", c.node().num_outputs());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ParseSequenceExampleCpu>(
        std::move(columns), std::move(context), std::move(lists), std::move(absent)));
  }
  Status Compute(Context& ctx) override {
    // The shape function asks for a vector; where no shape is known, a scalar is an example by
    // itself.
    if (ctx.input(0).rank() > 1) {
      return InvalidArgument("Expected serialized to be a vector, got shape: ",
                             ctx.input(0).shape());
    }
    return SequenceCall{columns_, context_, lists_, absent_, ctx.input(1), ParseWords::kSequence, 2}
        .Parse(ctx);
  }

 private:
  const SequenceColumns columns_;
  const FeatureKeys context_;
  const FeatureKeys lists_;
  const std::vector<bool> absent_;
};

// Inputs: serialized, names, three vectors of keys of the context, three of the lists, which of the
// dense lists may be absent, the defaults of the context.
class ParseSequenceExampleV2Cpu : public Kernel {
 public:
  explicit ParseSequenceExampleV2Cpu(SequenceColumns columns) : columns_(std::move(columns)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(SequenceColumns columns, SequenceColumns::Of(c));
    RETURN_IF_ERROR(columns.context.AddRagged(c, "context_"));
    RETURN_IF_ERROR(columns.lists.features.AddRagged(c, "feature_list_"));
    const int outputs = columns.context.num_outputs() + columns.lists.features.num_outputs() +
                        static_cast<int>(columns.lists.features.dense.size() +
                                         columns.lists.features.ragged.size());
    if (c.node().num_outputs() != outputs) {
      return InvalidArgument("the numbers of keys and types differ: expected ", outputs,
                             " outputs, got ", c.node().num_outputs());
    }
    return std::unique_ptr<Kernel>(std::make_unique<ParseSequenceExampleV2Cpu>(std::move(columns)));
  }
  Status Compute(Context& ctx) override {
    if (ctx.input(0).rank() > 1) {
      return InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                             ctx.input(0).shape());
    }
    const ParsedColumns &context = columns_.context, &lists = columns_.lists.features;
    const size_t counts[] = {context.sparse.size(), context.dense.size(), context.ragged.size(),
                             lists.sparse.size(),   lists.dense.size(),   lists.ragged.size(),
                             lists.dense.size()};
    for (int i = 0; i < 7; ++i) {
      if (ctx.input(2 + i).num_elements() == static_cast<int64_t>(counts[i])) continue;
      return InvalidArgument("Expected ", kKeyInputs[i], " to have ", counts[i],
                             " elements, got shape: ", ctx.input(2 + i).shape());
    }
    const KeyVectors context_given(ctx, 2, 3), lists_given(ctx, 5, 3);
    const auto context_keys = context_.Of(context_given.size(), context_given);
    const auto list_keys = lists_.Of(lists_given.size(), lists_given);
    const auto assumed = ctx.input(8).flat<bool>();
    const std::vector<bool> absent(assumed.begin(), assumed.end());
    const bool single = ctx.input(0).rank() == 0;
    return SequenceCall{
        columns_, *context_keys, *list_keys,
        absent,   ctx.input(1),  single ? ParseWords::kSingleSequence : ParseWords::kSequence,
        9}
        .Parse(ctx);
  }

 private:
  static constexpr const char* kKeyInputs[] = {"context_sparse_keys",
                                               "context_dense_keys",
                                               "context_ragged_keys",
                                               "feature_list_sparse_keys",
                                               "feature_list_dense_keys",
                                               "feature_list_ragged_keys",
                                               "feature_list_dense_missing_assumed_empty"};
  const SequenceColumns columns_;
  KeyCache context_, lists_;
};

// Inputs: serialized, the keys of lists that may be absent, a scalar for each key (sparse and dense
// ones of the context, then of the lists), the defaults of the context, the name.
class ParseSingleSequenceExampleCpu : public Kernel {
 public:
  explicit ParseSingleSequenceExampleCpu(SequenceColumns columns) : columns_(std::move(columns)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(SequenceColumns columns, SequenceColumns::Of(c));
    columns.lists.has_lengths = false;
    const int inputs = 3 + columns.context.num_keys() + columns.lists.features.num_keys() +
                       static_cast<int>(columns.context.dense.size());
    if (c.node().num_inputs() != inputs) {
      return InvalidArgument("the numbers of keys and types differ: expected ", inputs,
                             " inputs, got ", c.node().num_inputs());
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<ParseSingleSequenceExampleCpu>(std::move(columns)));
  }
  Status Compute(Context& ctx) override {
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("Expected serialized to be a scalar, got shape: ",
                             ctx.input(0).shape());
    }
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument(
          "Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: ",
          ctx.input(1).shape());
    }
    const int context = columns_.context.num_keys(), lists = columns_.lists.features.num_keys();
    for (int i = 2; i < 2 + context + lists; ++i) {
      if (ctx.input(i).rank() == 0) continue;
      return InvalidArgument("Expected key ", i - 2,
                             " to be a scalar, got shape: ", ctx.input(i).shape());
    }
    const Tensor& name = ctx.input(ctx.num_inputs() - 1);
    if (name.rank() != 0) {
      return InvalidArgument("Expected debug_name to be a scalar, got shape: ", name.shape());
    }
    const auto context_keys = context_.Of(context, [&](int i) -> const std::string& {
      return ctx.input(2 + i).scalar<std::string>();
    });
    const auto list_keys = lists_.Of(lists, [&](int i) -> const std::string& {
      return ctx.input(2 + context + i).scalar<std::string>();
    });
    const std::vector<bool> absent =
        Absent(*list_keys, columns_.lists.features, ctx.input(1).flat<std::string>());
    return SequenceCall{
        columns_,           *context_keys, *list_keys, absent, name, ParseWords::kSingleSequence,
        2 + context + lists}
        .Parse(ctx);
  }

 private:
  const SequenceColumns columns_;
  KeyCache context_, lists_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(parse_sequence, cpu) {
  registry.Add<ParseSequenceExampleCpu>("ParseSequenceExample", kCpu).Cost(KernelCost::kExpensive);
  registry.Add<ParseSequenceExampleV2Cpu>("ParseSequenceExampleV2", kCpu)
      .Cost(KernelCost::kExpensive);
  registry.Add<ParseSingleSequenceExampleCpu>("ParseSingleSequenceExample", kCpu);
}
