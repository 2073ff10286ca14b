// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/testing/op_case_node.h"
#include "thalweg/testing/op_gradient.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using TypeMap = std::map<std::string, DType>;

// The value of a flag "--name=value" given to the test binary; "" for a bare "--name"; null.
const char* Flag(std::string_view name) {
  static const std::vector<std::string> arguments = testing::internal::GetArgvs();
  for (const std::string& argument : arguments) {
    const std::string_view view = argument;
    if (!view.starts_with("--") || !view.substr(2).starts_with(name)) continue;
    const size_t end = name.size() + 2;
    if (view.size() == end) return "";
    if (view[end] == '=') return argument.c_str() + end + 1;
  }
  return nullptr;
}

std::string TypesText(const TypeMap& types) {
  std::string out;
  for (const auto& [attr, dtype] : types) out += StrCat(out.empty() ? "" : ",", attr, "=", dtype);
  return out;
}

std::string InputsText(const std::vector<In>& inputs) {
  std::string out;
  for (const In& in : inputs) out += StrCat(out.empty() ? "" : " ", in.shape.ToString());
  return out;
}

}  // namespace

OpCase& OpCase::Try(std::vector<In> inputs, AttrMap attrs) {
  tries_.push_back({std::move(inputs), std::move(attrs), Code::kOk, "", ""});
  return *this;
}
OpCase& OpCase::Bad(std::vector<In> inputs, AttrMap attrs, Code code, std::string known,
                    std::string unknown) {
  bad_.push_back({std::move(inputs), std::move(attrs), code, std::move(known), std::move(unknown)});
  return *this;
}
OpCase& OpCase::Types(std::map<std::string, DType> types) {
  types_.push_back(std::move(types));
  return *this;
}
OpCase& OpCase::Skip(DType dtype, std::string_view) {
  skipped_.push_back(dtype);
  return *this;
}
OpCase& OpCase::Tolerance(DType dtype, double tolerance) {
  tolerance_[dtype] = tolerance;
  return *this;
}
OpCase& OpCase::GradInputs(std::vector<int> inputs) {
  grad_inputs_ = std::move(inputs);
  return *this;
}
OpCase& OpCase::GradOutputs(std::vector<int> outputs) {
  grad_outputs_ = std::move(outputs);
  return *this;
}
OpCase& OpCase::GradStep(double step, double tolerance) {
  grad_step_ = step;
  grad_tolerance_ = tolerance;
  return *this;
}
OpCase& OpCase::NoGradient(std::string_view) {
  no_gradient_ = true;
  return *this;
}
OpCase& OpCase::ShapesFromValues(std::string_view) {
  shapes_from_values_ = true;
  return *this;
}
OpCase& OpCase::Trivial(std::string_view) {
  trivial_ = true;
  return *this;
}

// One Run() of a case: the parts one after the other.
class OpCaseRun {
 public:
  OpCaseRun(OpCase& declared, const TestRegistries& registries)
      : case_(declared),
        ops_(registries.ops),
        kernels_(*registries.kernels),
        machine_(compute::BestIsaLevel(), false) {
    const char* only = Flag("only");
    if (only != nullptr) only_ = std::atoi(only);
  }

  void Run() {
    const Result<const OpEntry*> entry = ops_->Find(case_.op_);
    ASSERT_TRUE(entry.ok()) << entry.status().ToString();
    entry_ = *entry;
    if (case_.types_.empty()) CollectTypes();
    ASSERT_FALSE(case_.types_.empty()) << "no CPU kernel is registered for " << case_.op_;
    ASSERT_FALSE(case_.tries_.empty()) << "the case tries nothing";
    for (const TypeMap& types : case_.types_) {
      if (!failed_ && !Skipped(types)) RunTypes(types);
    }
    for (const OpCase::Attempt& attempt : case_.bad_) {
      if (!failed_ && Selected()) RunBad(attempt);
    }
  }

 private:
  void CollectTypes() {
    for (const KernelEntry* entry : kernels_.Entries()) {
      if (entry->op != case_.op_ || entry->device_type != kCpu) continue;
      case_.types_.emplace_back(entry->types.begin(), entry->types.end());
    }
  }

  bool Skipped(const TypeMap& types) const {
    return std::ranges::any_of(types, [&](const auto& type) {
      return std::ranges::find(case_.skipped_, type.second) != case_.skipped_.end();
    });
  }

  // Numbers the parts, so that --only can name one.
  bool Selected() {
    ++part_;
    return only_ < 0 || only_ == part_;
  }

  // False when the attributes fix another type.
  static bool Combine(const AttrMap& attrs, const TypeMap& types, AttrMap* combined) {
    *combined = attrs;
    for (const auto& [name, dtype] : types) {
      const AttrValue* fixed = attrs.Find(name);
      if (fixed != nullptr && !(*fixed == AttrValue(dtype))) return false;
      combined->Set(name, dtype);
    }
    return true;
  }

  void RunTypes(const TypeMap& types) {
    bool trusted = case_.trivial_;
    int ran = 0;
    for (const OpCase::Attempt& attempt : case_.tries_) {
      AttrMap attrs;
      if (!Combine(attempt.attrs, types, &attrs) || !Selected()) continue;
      ++ran;
      const std::string what =
          StrCat(case_.op_, " ", TypesText(types), " inputs ", InputsText(attempt.inputs));
      const std::string problem = RunPart(attempt, types, attrs, &trusted);
      if (!problem.empty()) return Fail(what, problem);
    }
    if (ran > 0 && only_ < 0 && !trusted) {
      Fail(StrCat(case_.op_, " ", TypesText(types)),
           "untrusted: all outputs are zero or equal to an input in every Try");
    }
  }

  // The case ends at its first failure.
  void Fail(const std::string& what, const std::string& problem) {
    failed_ = true;
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    ADD_FAILURE() << what << ": " << problem << "\nREPRO: " << testing::internal::GetArgvs()[0]
                  << " --gtest_filter=" << test->test_suite_name() << "." << test->name()
                  << " --only=" << part_;
  }

  // "" or what is wrong.
  std::string RunPart(const OpCase::Attempt& attempt, const TypeMap& types, const AttrMap& attrs,
                      bool* trusted) {
    Result<std::vector<CaseInput>> inputs =
        MakeCaseInputs(entry_->def, attempt.inputs, attrs, machine_.device.allocator());
    if (!inputs.ok()) return inputs.status().ToString();
    auto node = CaseNode::Make(ops_, case_.op_, attrs, *inputs, Knowledge::kShapes);
    if (!node.ok()) return node.status().ToString();
    Result<CaseNode::Outcome> outcome = (*node)->Run(kernels_, machine_, *inputs, false);
    if (!outcome.ok()) return outcome.status().ToString();
    const std::vector<Tensor>& outputs = outcome->outputs;
    if (!outcome->inputs_unchanged) return "a pinned input was overwritten";
    *trusted = *trusted || IsTelling(outputs, *inputs);
    std::string problem = CompareWithReference((*node)->node(), *inputs, outputs);
    if (problem.empty()) problem = CompareRuns(**node, *inputs, outputs);
    if (problem.empty()) problem = CheckShapes(attrs, *inputs, **node, outputs);
    if (problem.empty()) problem = CheckRoundTrip(**node);
    if (problem.empty() && WantsGradient(types)) problem = RunGradient(attrs, *inputs);
    if (problem.empty()) problem = machine_.device.allocator().Damage() + machine_.work.Damage();
    if (problem.empty() && Flag("perf") != nullptr) Time(**node, *inputs, types, attempt);
    return problem;
  }

  static bool IsTelling(const std::vector<Tensor>& outputs, const std::vector<CaseInput>& inputs) {
    return std::ranges::any_of(outputs, [&](const Tensor& output) {
      if (output.num_elements() == 0 || IsAllZero(output)) return false;
      return std::ranges::none_of(inputs, [&](const CaseInput& input) {
        return BitDifference(output, input.value).empty();
      });
    });
  }

  double ToleranceOf(DType dtype) const {
    const auto it = case_.tolerance_.find(dtype);
    return it != case_.tolerance_.end() ? it->second : DefaultTolerance(dtype);
  }

  template <class V>
  std::string CompareWith(const std::function<void(RefCall<V>&)>& reference, const Node& node,
                          const std::vector<CaseInput>& inputs,
                          const std::vector<Tensor>& outputs) {
    RefCall<V> call;
    call.node = &node;
    for (const CaseInput& input : inputs) call.in.push_back(ToArray<V>(input.value));
    reference(call);
    if (call.out.size() != outputs.size()) {
      return StrCat("the reference gives ", call.out.size(), " values, the kernel ",
                    outputs.size());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string difference =
          Difference(outputs[i], call.out[i], ToleranceOf(outputs[i].dtype()));
      if (!difference.empty()) return StrCat("output ", i, ": ", difference);
    }
    return "";
  }

  std::string CompareWithReference(const Node& node, const std::vector<CaseInput>& inputs,
                                   const std::vector<Tensor>& outputs) {
    const auto is_complex = [](const auto& x) {
      if constexpr (requires { x.dtype(); }) {
        return IsComplex(x.dtype());
      } else {
        return IsComplex(x.dtype);
      }
    };
    if (std::ranges::any_of(inputs, is_complex) || std::ranges::any_of(outputs, is_complex)) {
      if (!case_.complex_) return "the case has no complex reference: write one, or Skip the type";
      return CompareWith<OpCase::Complex>(case_.complex_, node, inputs, outputs);
    }
    if (!case_.real_) return "the case has no reference";
    return CompareWith<double>(case_.real_, node, inputs, outputs);
  }

  // Other machines, other order of shards, inputs taken.
  std::string CompareRuns(const CaseNode& node, const std::vector<CaseInput>& inputs,
                          const std::vector<Tensor>& outputs) {
    TestMachine backwards(compute::BestIsaLevel(), true);
    for (bool take : {false, true}) {
      Result<CaseNode::Outcome> again = node.Run(kernels_, backwards, inputs, take);
      if (!again.ok()) return again.status().ToString();
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string difference = BitDifference(again->outputs[i], outputs[i]);
        if (!difference.empty()) {
          return StrCat("output ", i, " differs ",
                        take ? "with inputs taken: " : "backwards: ", difference);
        }
      }
    }
    for (int level = 0; level < static_cast<int>(compute::BestIsaLevel()); ++level) {
      TestMachine other(static_cast<compute::IsaLevel>(level), false);
      Result<CaseNode::Outcome> again = node.Run(kernels_, other, inputs, false);
      if (!again.ok()) return StrCat(other.name, ": ", again.status().ToString());
      std::string problem = CompareWithReference(node.node(), inputs, again->outputs);
      if (!problem.empty()) return StrCat(other.name, ": ", problem);
    }
    return backwards.device.allocator().Damage() + backwards.work.Damage();
  }

  // What inference says admits the real shapes, whatever it is told; told all, it knows all.
  std::string CheckShapes(const AttrMap& attrs, const std::vector<CaseInput>& inputs,
                          const CaseNode& known, const std::vector<Tensor>& outputs) {
    for (Knowledge knowledge :
         {Knowledge::kUnknownDims, Knowledge::kUnknownRank, Knowledge::kValues}) {
      auto node = CaseNode::Make(ops_, case_.op_, attrs, inputs, knowledge);
      if (!node.ok()) {
        return StrCat("with ", static_cast<int>(knowledge), " known: ", node.status().ToString());
      }
      size_t next = 0;
      for (int i = 0; i < known.node().num_outputs(); ++i) {
        if (known.node().output_is_ref(i)) continue;
        const Shape real = outputs[next++].shape();
        const PartialShape& inferred = (*node)->node().output_shape(i);
        const bool must_know = knowledge == Knowledge::kValues && !case_.shapes_from_values_;
        if (!inferred.Admits(real) || (must_know && !inferred.IsFullyDefined())) {
          return StrCat("output ", i, " is ", real.ToString(), ", inferred ", inferred.ToString());
        }
      }
    }
    return "";
  }

  // The graph as a GraphDef and back is the same node.
  std::string CheckRoundTrip(const CaseNode& node) {
    const Result<std::string> bytes = ExportGraphDefBytes(node.graph());
    if (!bytes.ok()) return bytes.status().ToString();
    Graph copy(ops_);
    const Result<ImportedGraph> imported = ImportGraphDefBytes(*bytes, copy);
    if (!imported.ok()) return StrCat("its GraphDef is refused: ", imported.status().ToString());
    const Result<std::string> again = ExportGraphDefBytes(copy);
    if (!again.ok()) return again.status().ToString();
    return *again == *bytes ? "" : "its GraphDef differs after import and export";
  }

  // Differences need precision: double kernels, or float ones where there are no others.
  bool WantsGradient(const TypeMap& types) const {
    if (entry_->gradient == nullptr || case_.no_gradient_) return false;
    const auto has = [](const TypeMap& map, DType dtype) {
      return std::ranges::any_of(map, [&](const auto& type) { return type.second == dtype; });
    };
    if (has(types, DType::kDouble)) return true;
    const bool any_double = std::ranges::any_of(
        case_.types_, [&](const TypeMap& map) { return has(map, DType::kDouble); });
    return !any_double && (types.empty() || has(types, DType::kFloat));
  }

  std::string RunGradient(const AttrMap& attrs, const std::vector<CaseInput>& inputs) {
    const GradientCheck check{case_.grad_inputs_, case_.grad_outputs_, case_.grad_step_,
                              case_.grad_tolerance_};
    for (Knowledge knowledge : {Knowledge::kShapes, Knowledge::kUnknownRank}) {
      auto node = CaseNode::Make(ops_, case_.op_, attrs, inputs, knowledge);
      if (!node.ok()) return node.status().ToString();
      const std::string problem = CheckGradient(kernels_, machine_, **node, inputs, check);
      if (!problem.empty()) {
        return StrCat(problem, knowledge == Knowledge::kShapes ? "" : " (unknown ranks)");
      }
    }
    return "";
  }

  void Time(const CaseNode& node, const std::vector<CaseInput>& inputs, const TypeMap& types,
            const OpCase::Attempt& attempt) {
    using Clock = std::chrono::steady_clock;
    int64_t runs = 0;
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(20)) {
      if (!node.Run(kernels_, machine_, inputs, false).ok()) return;
      ++runs;
    }
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    printf("PERF %s %s %s: %.2f us with the harness around it\n", case_.op_.c_str(),
           TypesText(types).c_str(), InputsText(attempt.inputs).c_str(),
           us / static_cast<double>(runs));
  }

  // Once with everything known to inference, once past inference as far as it goes.
  void RunBad(const OpCase::Attempt& attempt) {
    const std::string what = StrCat(case_.op_, " bad inputs ", InputsText(attempt.inputs));
    AttrMap attrs;
    const bool fits = std::ranges::any_of(case_.types_, [&](const TypeMap& types) {
      return !Skipped(types) && Combine(attempt.attrs, types, &attrs);
    });
    if (!fits) attrs = attempt.attrs;
    Result<std::vector<CaseInput>> inputs =
        MakeCaseInputs(entry_->def, attempt.inputs, attrs, machine_.device.allocator());
    if (!inputs.ok()) return Fail(what, inputs.status().ToString());
    for (Knowledge knowledge : {Knowledge::kValues, Knowledge::kUnknownRank}) {
      Status status;
      auto node = CaseNode::Make(ops_, case_.op_, attrs, *inputs, knowledge);
      if (node.ok()) {
        status = (*node)->Run(kernels_, machine_, *inputs, false).status();
      } else {
        status = node.status();
      }
      const bool known = knowledge == Knowledge::kValues;
      const std::string& part = known ? attempt.known : attempt.unknown;
      const bool says = status.message().find(part) != std::string::npos;
      if (status.code() != attempt.code || !says) {
        return Fail(what, StrCat("expected ", CodeName(attempt.code), " with '", part, "', got ",
                                 status.ToString(), known ? "" : " (unknown ranks)"));
      }
    }
  }

  OpCase& case_;
  std::shared_ptr<const OpRegistry> ops_;
  const KernelRegistry& kernels_;
  TestMachine machine_;
  const OpEntry* entry_ = nullptr;
  int only_ = -1;
  int part_ = -1;
  bool failed_ = false;
};

void OpCase::Run(const TestRegistries& registries) { OpCaseRun(*this, registries).Run(); }

Result<std::vector<Tensor>> RunOp(std::string_view op, const std::vector<Tensor>& inputs,
                                  AttrMap attrs) {
  std::vector<CaseInput> given;
  for (const Tensor& tensor : inputs) given.push_back({tensor.dtype(), false, false, tensor});
  ASSIGN_OR_RETURN(
      std::unique_ptr<CaseNode> node,
      CaseNode::Make(AllRegistries().ops, std::string(op), attrs, given, Knowledge::kShapes));
  TestMachine machine(compute::BestIsaLevel(), false);
  ASSIGN_OR_RETURN(CaseNode::Outcome outcome,
                   node->Run(*AllRegistries().kernels, machine, given, false));
  for (Tensor& output : outcome.outputs) {
    ASSIGN_OR_RETURN(output, output.Clone(*MakeCpuAllocator()));
  }
  return std::move(outcome.outputs);
}

}  // namespace thalweg
