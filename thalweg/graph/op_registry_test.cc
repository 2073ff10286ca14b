// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/graph/op_table.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

TEST(OpRegistry, HasEveryOperationOfBothReleases) {
  OpRegistry registry;
  const std::vector<std::string_view> names = registry.Names();
  EXPECT_EQ(names.size(), 1941u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (std::string_view name : names) {
    Result<const OpEntry*> entry = registry.Find(name);
    ASSERT_TRUE(entry.ok()) << name;
    EXPECT_EQ((*entry)->def.name, name);
    EXPECT_TRUE(ValidateOpDef((*entry)->def).ok()) << ValidateOpDef((*entry)->def).ToString();
  }
}

TEST(OpRegistry, ReadsOneSchemaWhole) {
  OpRegistry registry;
  const OpDef& def = (*registry.Find("MatMul"))->def;
  ASSERT_EQ(def.inputs.size(), 2u);
  EXPECT_EQ(def.inputs[1].name, "b");
  EXPECT_EQ(def.inputs[1].type_attr, "T");
  ASSERT_EQ(def.outputs.size(), 1u);
  const AttrDef* t = def.FindAttr("T");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->kind, AttrValue::Kind::kType);
  EXPECT_FALSE(t->default_value.has_value());
  EXPECT_NE(std::find(t->allowed_types.begin(), t->allowed_types.end(), DType::kComplex128),
            t->allowed_types.end());
  EXPECT_EQ(*def.FindAttr("transpose_a")->default_value, AttrValue(false));
  EXPECT_FALSE(def.FindAttr("transpose_a")->newer_than_1_15);
  EXPECT_TRUE(def.FindAttr("grad_a")->newer_than_1_15);
  EXPECT_EQ(def.FindAttr("nothing"), nullptr);
}

TEST(OpRegistry, ReadsDefaultsOfAllKinds) {
  OpRegistry registry;
  const OpDef& def = (*registry.Find("DefaultAttrs"))->def;
  const auto text = [&](std::string_view name) {
    return def.FindAttr(name)->default_value->ToString();
  };
  EXPECT_EQ(text("string_val"), "\"abc\"");
  EXPECT_EQ(text("string_list_val"), "[\"abc\", \"\"]");
  EXPECT_EQ(text("int_val"), "123");
  EXPECT_EQ(text("float_val"), "10");
  EXPECT_EQ(text("bool_list_val"), "[true, false]");
  EXPECT_EQ(text("type_list_val"), "[DT_INT32, DT_FLOAT]");
  EXPECT_EQ(text("shape_val"), "[2,1]");
  EXPECT_EQ(text("shape_list_val"), "[[], [1]]");
  EXPECT_EQ(text("tensor_val"), "int32[] 1");
  const OpDef& image = (*registry.Find("ImageSummary"))->def;
  EXPECT_EQ(image.FindAttr("bad_color")->default_value->Get<Tensor>()->flat<uint8_t>()[3], 255);
  EXPECT_FALSE((*registry.Find("Placeholder"))
                   ->def.FindAttr("shape")
                   ->default_value->Get<PartialShape>()
                   ->known_rank());
}

TEST(OpRegistry, MinimaAndFlags) {
  OpRegistry registry;
  const OpDef& def = (*registry.Find("AddN"))->def;
  EXPECT_TRUE(def.is_commutative);
  EXPECT_TRUE(def.is_aggregate);
  EXPECT_EQ(def.FindAttr("N")->minimum, 1);
  EXPECT_TRUE((*registry.Find("VariableV2"))->def.is_stateful);
  EXPECT_TRUE((*registry.Find("VariableV2"))->def.outputs[0].is_ref);
  EXPECT_TRUE((*registry.Find("Assign"))->def.allows_uninitialized_input);
}

TEST(OpRegistry, UnknownNameListsTheNearest) {
  OpRegistry registry;
  const Status status = registry.Find("MatMull").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Op type not registered 'MatMull'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nearest: 'MatMul'"));
  EXPECT_EQ(registry.Find("Qqqqqqqqqqqqqqq").status().message(),
            "Op type not registered 'Qqqqqqqqqqqqqqq'");
  EXPECT_FALSE(registry.Find(std::string(1 << 20, 'x')).ok());
  EXPECT_FALSE(registry.Find("").ok());
}

TEST(OpRegistry, DefineAddsAnOperation) {
  OpRegistry registry;
  OpDef def;
  def.name = "Custom>Scale";
  def.inputs.push_back({.name = "x", .type_attr = "T"});
  def.outputs.push_back({.name = "y", .type_attr = "T"});
  def.attrs.push_back({.name = "T", .kind = AttrValue::Kind::kType});
  ASSERT_TRUE(registry.Define(def, UnchangedShape, nullptr).ok());
  EXPECT_EQ((*registry.Find("Custom>Scale"))->shape, &UnchangedShape);
  EXPECT_EQ(registry.Names().size(), 1942u);
  EXPECT_EQ(registry.Define(def, nullptr, nullptr).code(), Code::kAlreadyExists);
  def.name = "MatMul";
  EXPECT_EQ(registry.Define(def, nullptr, nullptr).code(), Code::kAlreadyExists);
}

TEST(OpRegistry, DefineRefusesBadSchemas) {
  OpRegistry registry;
  const auto message = [&](const OpDef& def) {
    const Status status = registry.Define(def, nullptr, nullptr);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  OpDef def;
  EXPECT_THAT(message(def), HasSubstr("bad operation name ''"));
  def.name = "Mine";
  def.inputs.push_back({.name = "x"});
  EXPECT_THAT(message(def), HasSubstr("exactly one of type"));
  def.inputs[0].type_attr = "T";
  EXPECT_THAT(message(def), HasSubstr("attribute 'T', which the operation does not have"));
  def.attrs.push_back({.name = "T", .kind = AttrValue::Kind::kInt});
  EXPECT_THAT(message(def), HasSubstr("needs attribute 'T' to be a type, it is an int"));
  def.attrs[0] = {.name = "T", .kind = AttrValue::Kind::kType, .default_value = AttrValue(1)};
  EXPECT_THAT(message(def), HasSubstr("default: attribute 'T' must be a type; got the int 1"));
  def.attrs[0].default_value.reset();
  def.attrs.push_back(def.attrs[0]);
  EXPECT_THAT(message(def), HasSubstr("two attributes are named 'T'"));
  def.attrs.pop_back();
  def.inputs.push_back(def.inputs[0]);
  EXPECT_THAT(message(def), HasSubstr("two arguments are named 'x'"));
}

TEST(OpRegistry, RegistrationSetsFunctions) {
  OpRegistry registry;
  EXPECT_TRUE(registry.RegisteredNames().empty());
  registry.Op("Rank").Shape(ScalarShape).NotDifferentiable("an integer").Doc("The rank.");
  const OpEntry& entry = **registry.Find("Rank");
  EXPECT_EQ(entry.shape, &ScalarShape);
  EXPECT_EQ(entry.not_differentiable, "an integer");
  EXPECT_EQ(entry.doc, "The rank.");
  ASSERT_EQ(registry.RegisteredNames().size(), 1u);
  EXPECT_EQ(registry.RegisteredNames()[0], "Rank");
}

// The message of what happens at a line of this file.
std::string AtLine(int line) { return StrCat("thalweg/graph/op_registry_test.cc:", line); }

TEST(OpRegistry, ASecondRegistrationIsAnErrorThatNamesBoth) {
  OpRegistry registry;
  const int first = __LINE__ + 1;
  registry.Op("Rank").Shape(ScalarShape).Doc("The rank.");
  EXPECT_TRUE(registry.status().ok());
  registry.Op("Rank").Shape(UnchangedShape).Doc("Another.");
  const Status status = registry.status();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(status.message(), StrCat("operation 'Rank' exists already: it was registered in ",
                                     AtLine(first), " and then in ", AtLine(first + 2)));
  EXPECT_EQ(registry.Find("Abs").status().message(), status.message()) << "whoever asks hears it";
  registry.Op("Rank");
  EXPECT_EQ(registry.status().message(), status.message()) << "the first error stays";
}

TEST(OpRegistry, FunctionsOfADefinedSchemaAreNoSecondRegistration) {
  OpRegistry registry;
  OpDef def;
  def.name = "_Own";
  ASSERT_TRUE(registry.Define(def, nullptr, nullptr).ok());
  registry.Op("_Own").Shape(ScalarShape).Doc("Of our own.");
  EXPECT_TRUE(registry.status().ok()) << registry.status().ToString();
  registry.Op("_Own").Shape(UnchangedShape);
  EXPECT_EQ(registry.status().code(), Code::kAlreadyExists);
}

TEST(OpRegistry, ADefinitionOfATakenNameNamesWhoHasIt) {
  OpRegistry registry;
  OpDef def;
  def.name = "Mine";
  ASSERT_TRUE(registry.Define(def, nullptr, nullptr, nullptr, {"/lib/first.so"}).ok());
  EXPECT_EQ(registry.Define(def, nullptr, nullptr, nullptr, {"/lib/second.so"}).message(),
            "operation 'Mine' exists already: it was registered in /lib/first.so and then in "
            "/lib/second.so");
  def.name = "MatMul";
  EXPECT_THAT(std::string(registry.Define(def, nullptr, nullptr).message()),
              HasSubstr("it belongs to the instruction set"));
  EXPECT_TRUE(registry.Find("Mine").ok()) << "what is refused at once leaves nothing behind";
}

TEST(OpRegistry, UnfinishedRegistrationsAreListed) {
  OpRegistry registry;
  registry.Op("Rank").Shape(ScalarShape).NotDifferentiable("an integer").Doc("The rank.");
  EXPECT_EQ(registry.UnfinishedRegistrations(), "");
  registry.Op("Abs").Shape(UnchangedShape);
  registry.Op("Neg").NotDifferentiable("so there");
  EXPECT_EQ(registry.UnfinishedRegistrations(),
            "Abs: no gradient and no reason for none; no doc line\n"
            "Neg: no shape function; no doc line\n");
}

}  // namespace
}  // namespace thalweg
