// SPDX-License-Identifier: Apache-2.0
// convert, verify, run --record and the costs of inspect, as a shell sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;

class ModelVerbsTest : public CommandFolder {
 protected:
  ModelVerbsTest() { WriteModel("Mul", "scaled"); }
  std::string Fed() const { return " --feed x=" + Path("x.npy"); }
};

TEST_F(ModelVerbsTest, ConvertFoldsAndKeepsWhatComesOut) {
  ASSERT_EQ(Run("convert " + Path("model.pb") + " " + Path("out.pb")), 0) << output;
  EXPECT_EQ(output, "");
  ASSERT_EQ(Run("inspect " + Path("out.pb")), 0) << output;
  EXPECT_THAT(output, ::testing::Not(HasSubstr(" Mul\n")));
  EXPECT_THAT(output, HasSubstr("1 MatMul"));
  ASSERT_EQ(Run("run " + Path("out.pb") + Fed() + " --out " + Path("o.npz")), 0) << output;
  EXPECT_EQ(NpyOf(ReadNpz(Path("o.npz"))[0].second, "y"),
            NpyOf(tw::Tensor::Of<float>({40, 120, 0, 0}, {2, 2}), "y"));
  EXPECT_EQ(Run("convert " + Path("model.pb") + " " + Path("out.pb")), 1);
  EXPECT_THAT(output, HasSubstr("out.pb: the file is there already; --force replaces it"));
  EXPECT_EQ(Run("convert --force --keep-batch-norms " + Path("model.pb") + " " + Path("out.pb")),
            0);
  ASSERT_EQ(Run("inspect " + Path("out.pb")), 0) << output;
  EXPECT_THAT(output, HasSubstr(" Mul\n"));
  ASSERT_EQ(Run("convert --saved-model " + Path("model.pb") + " " + Path("saved")), 0) << output;
  EXPECT_TRUE(std::filesystem::exists(Path("saved/saved_model.pb")));
  EXPECT_EQ(Run("convert " + Path("model.pb") + " " + Path("o.pb") + " --signature other"), 1);
  EXPECT_THAT(output, HasSubstr("there is no signature 'other'"));
  EXPECT_EQ(Run("convert " + Path("model.pb")), 2);
}

TEST_F(ModelVerbsTest, PlacementTellsDevicesAndCosts) {
  const std::string inspect = "inspect " + Path("model.pb") + " --placement";
  ASSERT_EQ(Run(inspect), 0) << output;
  EXPECT_THAT(output, HasSubstr("a step of serving_default, placed by preference: "));
  EXPECT_THAT(output,
              HasSubstr("m        MatMul       /job:localhost/replica:0/task:0/device:CPU:0"));
  // Two machines that are not there: the network between them costs more than it gains.
  const std::string two = inspect +
                          " --device /job:a/task:0/device:CPU:0 --device /job:a/task:1/cpu:0 "
                          "--shape x=8,2 --node m";
  for (const std::string by : {"preferred", "cost", "search"}) {
    ASSERT_EQ(Run(two + " --by " + by), 0) << output;
    EXPECT_THAT(output, HasSubstr("'m' -> /job:a/replica:0/task:0/device:CPU:0\n"));
    EXPECT_THAT(output, HasSubstr("CPU has kernel for it"));
    EXPECT_THAT(output, HasSubstr("/job:a/replica:0/task:0/device:CPU:0 (chosen): "));
    EXPECT_THAT(output, HasSubstr("/job:a/replica:0/task:1/device:CPU:0: "));
    EXPECT_THAT(output, HasSubstr("from 64 operations and 144 bytes"));
  }
  ASSERT_EQ(Run(two + " --by cost --json"), 0) << output;
  const auto json = nlohmann::json::parse(output);
  EXPECT_EQ(json.at("method"), "cost");
  EXPECT_EQ(json.at("devices").size(), 2u);
  EXPECT_EQ(json.at("devices")[0].at("nodes"), json.at("nodes").size());
  const auto& others = json.at("explained")[0].at("alternatives");
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].at("step_seconds"), json.at("step_seconds"));
  EXPECT_GT(others[1].at("step_seconds").get<double>(), json.at("step_seconds").get<double>());
  EXPECT_EQ(others[0].at("chosen"), true);
}

TEST_F(ModelVerbsTest, PlacementRefusesWhatIsNotThere) {
  const std::string inspect = "inspect " + Path("model.pb");
  EXPECT_EQ(Run(inspect + " --placement --node n"), 1);
  EXPECT_THAT(output, HasSubstr("there is no node 'n' in the graph"));
  EXPECT_EQ(Run(inspect + " --placement --device /job:a"), 1);
  EXPECT_THAT(output, HasSubstr("expected a device, as '/device:CPU:1', got '/job:a'"));
  EXPECT_EQ(Run(inspect + " --placement --device /cpu:0 --device /device:CPU:0"), 1);
  EXPECT_THAT(output, HasSubstr("is named twice"));
  EXPECT_EQ(Run(inspect + " --placement --device /device:GPU:0"), 1);
  EXPECT_THAT(output, HasSubstr("GPU"));
  EXPECT_EQ(Run(inspect + " --placement --by magic"), 2);
  EXPECT_EQ(Run(inspect + " --node m"), 2);
  EXPECT_EQ(Run(inspect + " --placement --plan"), 2);
}

TEST_F(ModelVerbsTest, VerifyNamesTheFirstDifference) {
  ASSERT_EQ(Run("run " + Path("model.pb") + Fed() + " --record " + Path("r.npz")), 0) << output;
  const std::string verify = "verify " + Path("model.pb") + " --reference " + Path("r.npz");
  ASSERT_EQ(Run(verify), 0) << output;
  EXPECT_EQ(output, "5 values compared: the same\n");
  ASSERT_EQ(Run("convert " + Path("model.pb") + " " + Path("out.pb")), 0) << output;
  ASSERT_EQ(Run("verify " + Path("out.pb") + " --reference " + Path("r.npz")), 0) << output;
  EXPECT_THAT(output, HasSubstr("not in this model: "));
  NamedArrays recorded = ReadNpz(Path("r.npz"));
  for (auto& [name, array] : recorded) {
    if (name == "out.scaled:0") {
      array = tw::Tensor::Of<float>({40, 120, -359.5f, -1080}, {2, 2});
    }
    if (name == "out.y:0") array = tw::Tensor::Of<float>({0, 0, 0, 0}, {2, 2});
  }
  WriteNpz(Path("r.npz"), recorded);
  EXPECT_EQ(Run(verify), 1);
  EXPECT_THAT(output,
              HasSubstr("first difference: Mul 'scaled:0': 1 element differ, by at most 0.5 "
                        "(relative 0.00138"));
  EXPECT_THAT(output, HasSubstr("; the first at [1,0]: expected -359.5, found -360\n"));
  EXPECT_THAT(output, HasSubstr("  computed from MatMul 'm:0': the same\n"));
  EXPECT_THAT(output, HasSubstr("2 of 5 values differ\n"));
  EXPECT_EQ(Run(verify + " --json"), 1);
  EXPECT_THAT(output, HasSubstr("\"first\":"));
  EXPECT_EQ(Run(verify + " --atol 1000"), 0) << output;
  WriteNpz(Path("none.npz"), {});
  EXPECT_EQ(Run("verify " + Path("model.pb") + " --reference " + Path("none.npz")), 1);
  EXPECT_THAT(output, HasSubstr("no array is called 'out.NAME'"));
}

// A program in place of another build: where its fourth argument says it writes what it has
// recorded, which is a file that lies there already.
std::string Impostor(const std::string& path, const std::string& recorded) {
  WriteFile(path, "#!/bin/sh\ncp " + recorded + " \"$4\"\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST_F(ModelVerbsTest, VerifyAgainstOtherWays) {
  const std::string verify = "verify " + Path("model.pb") + " --against ";
  for (const std::string& way : std::vector<std::string>{
           "threads=1", "threads=3", "passes=none", "passes=-cse", "device=/device:CPU:1",
           "device=/cpu:0", "build=" + std::string(THALWEG_COMMAND)}) {
    ASSERT_EQ(Run(verify + way), 0) << output;
    EXPECT_EQ(output, "5 values compared: the same\n") << way;
  }
  ASSERT_EQ(Run(verify + "threads=1 --json --seed 3 --batch 5" + Fed()), 0) << output;
  const auto json = nlohmann::json::parse(output);
  EXPECT_EQ(json.at("outputs").at("same"), true);
  EXPECT_EQ(json.at("outputs").at("values").size(), 1u);
  EXPECT_EQ(json.at("values").size(), 5u);
}

TEST_F(ModelVerbsTest, VerifyAgainstNamesTheNode) {
  ASSERT_EQ(Run("run " + Path("model.pb") + Fed() + " --record " + Path("r.npz")), 0) << output;
  NamedArrays recorded = ReadNpz(Path("r.npz"));
  for (auto& [name, array] : recorded) {
    if (name == "out.scaled:0") array = tw::Tensor::Of<float>({40, 120, -359.5f, -1080}, {2, 2});
  }
  WriteNpz(Path("r.npz"), recorded);
  const std::string build = Impostor(Path("build"), Path("r.npz"));
  EXPECT_EQ(Run("verify " + Path("model.pb") + " --against build=" + build + Fed()), 1);
  EXPECT_THAT(output, HasSubstr("first difference: Mul 'scaled:0': 1 element differ, by at most "));
  EXPECT_THAT(output, HasSubstr("  computed from MatMul 'm:0': the same\n"));
  EXPECT_THAT(output, HasSubstr("model.pb: values differ from those of build="));
  // A framework's Python is given the program that records, the model, the file and the feeds.
  WriteFile(Path("python"),
            "#!/bin/sh\n[ \"$1\" = -c ] && [ \"$3\" = " + Path("model.pb") +
                " ] || exit 7\ncase \"$2\" in *'Records what a model computes'*) ;; *) exit 8;; "
                "esac\ncp " +
                Path("r.npz") + " \"$4\"\n");
  std::filesystem::permissions(Path("python"), std::filesystem::perms::owner_all);
  const std::string framework = "verify " + Path("model.pb") + " --against framework=tensorflow";
  EXPECT_EQ(Run(framework + " --python " + Path("python")), 1);
  EXPECT_THAT(output, HasSubstr("first difference: Mul 'scaled:0'"));
  EXPECT_EQ(Run(framework + " --python " + Path("python") + " --atol 1000"), 0) << output;
}

TEST_F(ModelVerbsTest, VerifyEndsWithASignalAlsoWhereTheOtherProgramIgnoresIt) {
  WriteFile(Path("python"), "#!/bin/sh\ntrap '' TERM\necho ready > " + Path("ready") +
                                "\nread line < " + Path("never") + "\n");
  std::filesystem::permissions(Path("python"), std::filesystem::perms::owner_all);
  EXPECT_EQ(RunShell("mkfifo " + Path("ready") + " " + Path("never") + "; " + THALWEG_COMMAND +
                     " verify " + Path("model.pb") + " --against framework=tensorflow --python " +
                     Path("python") + " 2>&1 & read line < " + Path("ready") +
                     "; kill -TERM $!; wait $!"),
            128 + SIGTERM)
      << output;
}

TEST_F(ModelVerbsTest, VerifyAgainstARandomOperation) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph g(environment);
  const tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 2});
  const tw::Output noise =
      g.Op("RandomUniform", {g.Op("Shape", {x}, {}, "shape")}, {{"dtype", tw::kFloat}}, "noise");
  g.Op("Add", {x, noise}, {}, "y");
  WriteFile(Path("random.pb"), g.Export().OrThrow());
  EXPECT_EQ(Run("verify " + Path("random.pb") + " --against threads=1"), 1);
  EXPECT_THAT(output, HasSubstr("first difference: RandomUniform 'noise:0': 4 elements differ"));
}

TEST_F(ModelVerbsTest, VerifyAgainstSaysWhatIsWrong) {
  const std::string verify = "verify " + Path("model.pb");
  EXPECT_EQ(Run(verify), 2);
  EXPECT_EQ(Run(verify + " --against threads=1 --reference r.npz"), 2);
  for (const std::string way :
       {"threads", "threads=0", "threads=x", "device=", "speed=1", "framework=torch", ""}) {
    EXPECT_EQ(Run(verify + " --against '" + way + "'"), 2) << output;
    EXPECT_THAT(output, HasSubstr("--against")) << way;
  }
  EXPECT_EQ(Run(verify + " --reference r.npz --seed 1"), 2);
  EXPECT_EQ(Run(verify + " --against passes=-nothing"), 1);
  EXPECT_THAT(output, HasSubstr("nothing"));
  EXPECT_EQ(Run(verify + " --against device=/device:GPU:3"), 1);
  EXPECT_THAT(output, HasSubstr("there is no device '/device:GPU:3', but /job:localhost"));
  EXPECT_EQ(Run(verify + " --against build=/nowhere"), 1);
  EXPECT_THAT(output,
              HasSubstr("/nowhere: expected a thalweg program, or the folder of a package"));
  EXPECT_EQ(Run(verify + " --against framework=tensorflow --python /nowhere/python"), 1);
  EXPECT_THAT(output, HasSubstr("/nowhere/python: it cannot be run: No such file or directory"));
  EXPECT_EQ(Run(verify + " --against framework=tensorflow --python false"), 1);
  EXPECT_THAT(output, HasSubstr("false: it failed with status 1"));
  EXPECT_EQ(Run(verify + " --against threads=1 --shape z=1"), 1);
  EXPECT_THAT(output, HasSubstr("--shape names 'z'; the signature is serving_default(x) -> y"));
}

TEST_F(ModelVerbsTest, RandomInputsNeedTypesAndRanks) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph g(environment);
  g.Op("Identity", {g.Op("Placeholder", {}, {{"dtype", tw::kString}}, "text")}, {}, "t");
  WriteFile(Path("text.pb"), g.Export().OrThrow());
  EXPECT_EQ(Run("verify " + Path("text.pb") + " --against threads=1"), 1);
  EXPECT_THAT(output, HasSubstr("input 'text' has an unknown rank; say its shape: --shape text="));
  EXPECT_EQ(Run("verify " + Path("text.pb") + " --against threads=1 --shape text=2"), 1);
  EXPECT_THAT(output, HasSubstr("input 'text' has a type of which there are no random values"));
}

TEST_F(ModelVerbsTest, RunTellsStatistics) {
  const std::string run = "run " + Path("model.pb") + Fed() + " --statistics";
  ASSERT_EQ(Run(run), 0) << output;
  EXPECT_THAT(output, ::testing::ContainsRegex("tensor +type +shape +min +max +mean"));
  EXPECT_THAT(output, ::testing::ContainsRegex("\n *y:0 +float32 +\\[2,2\\] +0 +120 +40 "));
  EXPECT_LT(output.find("m:0"), output.find("scaled:0"));
  EXPECT_LT(output.find("scaled:0"), output.find("y:0"));
  ASSERT_EQ(Run(run + " --json"), 0) << output;
  const auto json = nlohmann::json::parse(output);
  EXPECT_EQ(json.back().at("tensor"), "y:0");
  EXPECT_EQ(json.back().at("statistics").at("zeros"), 2);
  EXPECT_EQ(Run(run + " --out " + Path("o.npz")), 2);
  EXPECT_EQ(Run("run " + Path("model.pb") + Fed() + " --json"), 2);
}

TEST_F(ModelVerbsTest, InspectTellsTheCosts) {
  ASSERT_EQ(Run("inspect " + Path("model.pb") + " --batch 100"), 0) << output;
  EXPECT_THAT(output, HasSubstr("a step of serving_default for x [100,2]: 1,200 FLOPs, "));
  EXPECT_THAT(output, ::testing::ContainsRegex("\n  MatMul +1 +800 "));
  EXPECT_THAT(output, HasSubstr("memory: parameters 0 B, constants 24 B, activations at most "));
  ASSERT_EQ(Run("inspect --json " + Path("model.pb") + " --shape x=7,2"), 0) << output;
  EXPECT_THAT(output, HasSubstr("\"inputs\":{\"x\":[7,2]}"));
  EXPECT_EQ(Run("inspect " + Path("model.pb") + " --shape x=7,3"), 1);
  EXPECT_THAT(output, HasSubstr("input 'x' float32 [?,2] cannot have the shape [7,3]"));
  EXPECT_EQ(Run("inspect " + Path("model.pb") + " --shape x"), 1);
  EXPECT_EQ(Run("inspect " + Path("model.pb") + " --batch 0"), 2);
}

TEST(NpzTest, ArchivesComeBackAndBadOnesSayWhy) {
  const thalweg::TemporaryDirectory folder;
  const std::string path = folder.Path("archive.npz");
  const NamedArrays arrays = {{"a", tw::Tensor::Of<float>({1, 2}, {2})},
                              {"b:0", tw::Tensor::Strings({"x", "yy"}, {2})}};
  WriteNpz(path, arrays);
  const NamedArrays back = ReadNpz(path);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].first, "b:0");
  EXPECT_EQ(back[1].second.string(1), "yy");
  const std::string good = ReadFile(path);
  for (size_t size = 0; size < good.size(); ++size) {
    WriteFile(path, good.substr(0, size));
    EXPECT_THROW(ReadNpz(path), FileError) << size;
  }
  for (size_t i = 0; i < good.size(); ++i) {  // whatever it then reads, it ends
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0xff);
    WriteFile(path, bad);
    try {
      ReadNpz(path);
    } catch (const FileError&) {
    }
  }
}

}  // namespace
}  // namespace cli
