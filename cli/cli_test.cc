// SPDX-License-Identifier: Apache-2.0
// The command as a shell sees it, and NumPy's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::HasSubstr;

class CommandTest : public CommandFolder {
 protected:
  CommandTest() { WriteModel("BiasAdd", "a"); }
};

TEST_F(CommandTest, RunWritesWhatTheGraphComputes) {
  const std::string feed = " --feed x=" + Path("x.npy") + " --fetch y a:0 --out " + Path("o.npz");
  for (const char* model : {"model.pb", "model.pbtxt"}) {
    ASSERT_EQ(Run("run " + Path(model) + feed), 0) << output;
    EXPECT_EQ(output, "");
    const std::string archive = ReadFile(Path("o.npz"));
    // Members are stored: the array lies in the archive as it is.
    const std::string y = NpyOf(tw::Tensor::Of<float>({14, 26, 0, 0}, {2, 2}), "y");
    EXPECT_THAT(archive, HasSubstr(y));
    EXPECT_THAT(archive, HasSubstr("y.npy"));
    EXPECT_THAT(archive, HasSubstr("a:0.npy"));
  }
}

TEST_F(CommandTest, RunWithoutAFileSaysWhatCameOut) {
  ASSERT_EQ(Run("run " + Path("model.pb") + " --feed x=" + Path("x.npy") + " --fetch y"), 0);
  EXPECT_EQ(output, "y: float32 [2,2]\n");
}

TEST_F(CommandTest, RunTracesTheStep) {
  const std::string run = "run " + Path("model.pb") + " --feed x=" + Path("x.npy");
  ASSERT_EQ(Run(run + " --trace " + Path("step.pb")), 0) << output;
  EXPECT_EQ(output, "y: float32 [2,2]\n");
  ASSERT_EQ(Run("trace summary " + Path("step.pb")), 0) << output;
  EXPECT_THAT(output, HasSubstr("MatMul"));  // with its bias
  ASSERT_EQ(Run(run + " --trace " + Path("step.trace")), 0) << output;
  EXPECT_LT(ReadFile(Path("step.trace")).size(), ReadFile(Path("step.pb")).size());
  ASSERT_EQ(Run("trace summary " + Path("step.trace")), 0) << output;
  EXPECT_THAT(output, HasSubstr("MatMul"));
  EXPECT_EQ(Run("run " + Path("model.pb") + " --trace " + Path("none.pb")), 1);
  EXPECT_FALSE(std::filesystem::exists(Path("none.pb"))) << "a run that fails leaves none";
  EXPECT_EQ(Run(run + " --fetch y --trace " + Path("step.pb")), 2);
}

TEST_F(CommandTest, InspectShowsTheGraphAndThePlan) {
  ASSERT_EQ(Run("inspect " + Path("model.pb")), 0) << output;
  EXPECT_THAT(output, HasSubstr("GraphDef, 6 nodes, 0 functions\n"));
  EXPECT_THAT(output,
              HasSubstr("signatures:\n  serving_default\n    in   x  float32 [?,2]  x:0\n    "
                        "out  y  float32 [?,2]  y:0\n"));
  EXPECT_THAT(output, HasSubstr("1 MatMul"));
  ASSERT_EQ(Run("inspect --plan " + Path("model.pb")), 0) << output;
  EXPECT_THAT(output, HasSubstr("Relu 'y'"));
  ASSERT_EQ(Run("inspect --plan " + Path("model.pb") + " --target y"), 0) << output;
  EXPECT_THAT(output, HasSubstr("== What rewriting changed =="));
  ASSERT_EQ(Run("inspect --plan " + Path("model.pb") + " --fetch y"), 0) << output;
  EXPECT_THAT(output, HasSubstr("== Before rewriting: 6 nodes =="));
  EXPECT_THAT(output, HasSubstr("== After rewriting: 4 nodes =="));
  EXPECT_THAT(output, HasSubstr("MatMul 'm', BiasAdd 'a', Relu 'y'"));
  EXPECT_THAT(output, HasSubstr("constants: 24 bytes"));
  EXPECT_THAT(output, HasSubstr("of 1: _FusedMatMul 'y'"));
}

TEST_F(CommandTest, TellsItsVersion) {
  EXPECT_EQ(Run("--version"), 0);
  EXPECT_EQ(output, std::string("thalweg ") + tw_version() + "\n");
}

const std::string kModels = THALWEG_GOLDEN "/saved_models/2.21/";

TEST_F(CommandTest, InspectShowsASavedModel) {
  ASSERT_EQ(Run("inspect " + kModels + "tf2_module"), 0) << output;
  EXPECT_THAT(output, HasSubstr("SavedModel, "));
  EXPECT_THAT(output, HasSubstr(", tags: serve\n"));
  EXPECT_THAT(output, HasSubstr("  serving_default\n    in   rounds  int32 []  "));
  EXPECT_THAT(output, HasSubstr("    out  y  float32 [?,4]  "));
  EXPECT_THAT(output, ::testing::ContainsRegex("\n  emb +float32 .6,4. +24 +96\n"));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("no kernel")));
  EXPECT_EQ(Run("inspect --json " + kModels + "tf2_module"), 0);
  EXPECT_THAT(output, ::testing::ContainsRegex("\"name\":\"emb\"[^}]*\"parameters\":24"));
  ASSERT_EQ(Run("inspect --tags other " + kModels + "tf1_lookup"), 0) << output;
  EXPECT_THAT(output, HasSubstr("tags: other"));
  EXPECT_EQ(Run("inspect --tags none " + kModels + "tf1_lookup"), 1);
  EXPECT_THAT(output, HasSubstr("no graph of this SavedModel has the tags ['none']"));
}

TEST_F(CommandTest, InspectNamesWhatHasNoKernelAndWhatIsNotKnown) {
  WriteFile(
      Path("odd.pbtxt"),
      "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } } }"
      "node { name: \"y\" op: \"Zzyzx\" input: \"x\" }"
      "node { name: \"z\" op: \"TPUReplicatedOutput\" input: \"x\""
      "  attr { key: \"T\" value { type: DT_FLOAT } }"
      "  attr { key: \"num_replicas\" value { i: 1 } } }");
  ASSERT_EQ(Run("inspect " + Path("odd.pbtxt")), 0) << output;
  EXPECT_THAT(output, HasSubstr("1 TPUReplicatedOutput  (no kernel)\n"));
  EXPECT_THAT(output, HasSubstr("unknown operations: 'Zzyzx'\n"));
}

TEST_F(CommandTest, RunTakesASavedModelByItsSignature) {
  WriteFile(Path("words.npy"), NpyOf(tw::Tensor::Strings({"nobody", "at all"}, {2}), "words"));
  WriteFile(Path("rounds.npy"), NpyOf(tw::Tensor::Scalar<int32_t>(2), "rounds"));
  const std::string feeds =
      " --feed words=" + Path("words.npy") + " --feed rounds=" + Path("rounds.npy");
  ASSERT_EQ(Run("run " + kModels + "tf2_module" + feeds), 0) << output;
  EXPECT_EQ(output, "ids: int64 [2]\ny: float32 [2,4]\n");
  ASSERT_EQ(Run("run " + kModels + "tf2_module" + feeds + " --fetch ids --out " + Path("o.npz")),
            0);
  EXPECT_THAT(ReadFile(Path("o.npz")),
              HasSubstr(NpyOf(tw::Tensor::Of<int64_t>({-1, -1}, {2}), "")));
  ASSERT_EQ(Run("run " + kModels + "tf2_module --signature count"), 0) << output;
  EXPECT_EQ(output, "output_0: int64 []\n");
  EXPECT_EQ(Run("run " + kModels + "tf2_module --feed words=" + Path("words.npy")), 1);
  EXPECT_THAT(output, HasSubstr("signature 'serving_default': missing 'rounds'; its inputs are"));
  EXPECT_EQ(Run("run " + kModels + "tf2_module --signature cound"), 1);
  EXPECT_THAT(output, HasSubstr("there is no signature 'cound'; nearest: 'count'"));
}

TEST_F(CommandTest, ADirectoryWithoutAModel) {
  EXPECT_EQ(Run("inspect " + Path("")), 1);
  EXPECT_THAT(output, HasSubstr("a directory without a model"));
}

TEST(NpyTest, TextsAreBytesOrUtf8) {
  const tw::Tensor texts = tw::Tensor::Strings({"a", "", "gr\xc3\xbc\xc3\x9f"}, {3});
  const tw::Tensor back = ParseNpy(NpyOf(texts, "t"), "t");
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(back.string(i), texts.string(i));
  // What numpy.save writes for numpy.array(["\u00fc\U0001f600", "a"]).
  std::string header = "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  header += '\n';
  const std::string bytes =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
      std::string("\xfc\x00\x00\x00\x00\xf6\x01\x00\x61\x00\x00\x00\x00\x00\x00\x00", 16);
  const tw::Tensor wide = ParseNpy(bytes, "w");
  EXPECT_EQ(wide.string(0), "\xc3\xbc\xf0\x9f\x98\x80");
  EXPECT_EQ(wide.string(1), "a");
  EXPECT_THROW(ParseNpy(bytes.substr(0, bytes.size() - 4), "w"), FileError);
}

TEST_F(CommandTest, FailuresAreStatusOneAndUsageIsStatusTwo) {
  WriteFile(Path("bad.npy"), "not an array");
  WriteFile(Path("bad.pb"), "not a graph");
  const std::string model = Path("model.pb");
  EXPECT_EQ(Run("inspect /no/such/model.pb"), 1);
  EXPECT_THAT(output, HasSubstr("/no/such/model.pb: there is no such file or directory"));
  EXPECT_EQ(Run("inspect " + Path("bad.pb")), 1);
  WriteFile(Path("empty.pb"), "");
  EXPECT_EQ(Run("inspect " + Path("empty.pb")), 1);
  EXPECT_THAT(output, HasSubstr("the file is empty"));
  EXPECT_EQ(Run("run " + model + " --feed x=" + Path("bad.npy") + " --fetch y"), 1);
  EXPECT_THAT(output, HasSubstr("is no .npy file"));
  EXPECT_EQ(Run("run " + model + " --fetch y"), 1);
  EXPECT_THAT(output, HasSubstr(model + ": You must feed a value"));
  WriteFile(Path("refused.pbtxt"),
            "graph_def { node { name: 'a' op: 'NoOp' } }\nsignature_def { key: 'serve' value { "
            "outputs { key: 'y' value { name: 'none:0' } } } }");
  EXPECT_EQ(Run("inspect --plan " + Path("refused.pbtxt")), 1);
  EXPECT_THAT(output, HasSubstr("refused.pbtxt: signature 'serve': no node named 'none'"));
  EXPECT_EQ(Run("run " + model + " --feed x --fetch y"), 1);
  EXPECT_EQ(Run("inspect --plan " + model + " --fetch nothing"), 1);
  EXPECT_THAT(output, HasSubstr("nothing"));
  EXPECT_EQ(Run(""), 2);
  EXPECT_EQ(Run("run " + model), 1);
  EXPECT_THAT(output, HasSubstr("missing 'x'; its inputs are 'x' float32 [?,2]"));
  EXPECT_EQ(Run("inspect --plan --json " + model), 2);
  EXPECT_EQ(Run("launch " + model), 2);
  EXPECT_EQ(Run("--help"), 0);
}

// users.md G4: what a release to come has added.
TEST_F(CommandTest, GraphsOfTheFuture) {
  const auto graph = [](const std::string& attr) {
    return "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } "
           "} }\n"
           "node { name: \"y\" op: \"AddV2\" input: \"x\" input: \"x\"\n"
           "  attr { key: \"T\" value { type: DT_FLOAT } } " +
           attr +
           " }\n"
           "versions { producer: 4000 }\n";
  };
  const auto run = [&](const std::string& attr) {
    WriteFile(Path("future.pbtxt"), graph(attr));
    return Run("run " + Path("future.pbtxt") + " --feed x=" + Path("x.npy") + " --fetch y");
  };
  EXPECT_EQ(run(""), 0) << output;
  EXPECT_EQ(run("attr { key: \"_grain\" value { i: 3 } }"), 0) << output;
  EXPECT_EQ(run("attr { key: \"grain\" value { i: 3 } }"), 1);
  for (const char* word : {"producer version 4000", "AddV2", "grain", "export it again"}) {
    EXPECT_THAT(output, HasSubstr(word));
  }
}

// A function that Python wrote into a file, and what C++ makes of it written for Python, which
// python/tests/test_functions.py runs.
TEST_F(CommandTest, FunctionsFromAndForPython) {
  const std::string from_python = ReadFile(THALWEG_GOLDEN "/functions/from_python.pbtxt");
  WriteFile(Path("called.pbtxt"), from_python);
  ASSERT_EQ(Run("run " + Path("called.pbtxt") + " --feed x=" + Path("x.npy") + " --fetch y --out " +
                Path("o.npz")),
            0)
      << output;
  EXPECT_THAT(ReadFile(Path("o.npz")),
              HasSubstr(NpyOf(tw::Tensor::Of<float>({4, 4, -16, -16}, {2, 2}), "y")));
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph g(environment);
  ASSERT_TRUE(g.Import(from_python, true, "made").ok());
  const tw::Output x = g.Placeholder("fed", tw::kFloat, {2});
  g.Op("TwiceAndTwo", {g.Op("TwiceAndTwo", {x}, {}, "inner")}, {}, "outer");
  EXPECT_EQ(g.Export().OrThrow(), ReadFile(THALWEG_GOLDEN "/functions/from_cpp.pb"));
}

TEST(NpyTest, ArraysComeBack) {
  for (const tw::Tensor& tensor :
       {tw::Tensor::Of<float>({1, 2, 3, 4, 5, 6}, {2, 3}), tw::Tensor::Scalar<int64_t>(-5),
        tw::Tensor::Of<double>(std::vector<double>{}, {0, 7})}) {
    const std::string bytes = NpyOf(tensor, "t");
    const tw::Tensor back = ParseNpy(bytes, "t");
    EXPECT_EQ(back.dtype(), tensor.dtype());
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(NpyOf(back, "t"), bytes);
    EXPECT_EQ((bytes.size() - tw_tensor_bytes(tensor.c())) % 64, 0u);
  }
}

TEST(NpyTest, BadFilesSayWhy) {
  const std::string good = NpyOf(tw::Tensor::Of<float>({1, 2}, {2}), "t");
  const auto why = [](const std::string& bytes) -> std::string {
    try {
      ParseNpy(bytes, "t");
    } catch (const FileError& e) {
      return e.what();
    }
    return "";
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(why(good.substr(0, size)), "");
  EXPECT_THAT(why(good + "x"), HasSubstr("the shape needs 8 bytes, the file has 9"));
  EXPECT_THAT(why(with("<f4", "|O8")), HasSubstr("not supported"));
  EXPECT_THAT(why(with("False", "True ")), HasSubstr("Fortran"));
  EXPECT_THAT(why(with("(2, )", "(-2,)")), HasSubstr("no tuple of numbers"));
  EXPECT_THAT(why(with("'shape'", "'shade'")), HasSubstr("lacks 'shape'"));
  EXPECT_NE(why(with("(2, )", "(99999999999999999999, 99999999999)")), "");
  EXPECT_THROW(NpyOf(tw::Tensor::New(tw::kBfloat16, {1}).OrThrow(), "t"), FileError);
}

TEST_F(CommandTest, ServeIsReadyAndEndsWithSigterm) {
  // A shell beside it: waits for the line, tells the server to end, and gives its exit status.
  const std::string command = "f=" + Path("ready") + "; mkfifo $f; " + THALWEG_COMMAND +
                              " serve --cluster '{\"a\": [\"127.0.0.1:0\"]}' --job a --task 0 > $f"
                              " & read line < $f; kill -TERM $!; wait $! && echo $line";
  FILE* pipe = popen(command.c_str(), "r");
  char line[256] = "";
  EXPECT_NE(fgets(line, sizeof(line), pipe), nullptr);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_THAT(line, ::testing::StartsWith("ready grpc://127.0.0.1:"));
}

// The line of a server that is told to end as soon as it has said that it is ready.
std::string ReadyLine(const std::string& fifo, const std::string& arguments) {
  const std::string command = "f=" + fifo + "; mkfifo $f; " + THALWEG_COMMAND + " serve " +
                              arguments +
                              " > $f & read line < $f; kill -TERM $!; wait $! && echo $line";
  FILE* pipe = popen(command.c_str(), "r");
  char line[256] = "";
  EXPECT_NE(fgets(line, sizeof(line), pipe), nullptr);
  EXPECT_EQ(pclose(pipe), 0);
  return line;
}

TEST_F(CommandTest, ServeListensWhereItIsTold) {
  EXPECT_THAT(ReadyLine(Path("alone"), "--listen 127.0.0.2:0"),
              ::testing::StartsWith("ready grpc://127.0.0.2:"));
  EXPECT_THAT(ReadyLine(Path("of_a_cluster"),
                        "--listen 127.0.0.2:0 --cluster '{\"a\": [\"no.such.host:1\"]}' --job a"),
              ::testing::StartsWith("ready grpc://127.0.0.2:"));
  EXPECT_EQ(Run("serve --listen 127.0.0.1"), 1);
  EXPECT_THAT(output, HasSubstr("127.0.0.1"));
  EXPECT_EQ(Run("serve --listen 0.0.0.0:0"), 1);
  EXPECT_THAT(output, HasSubstr("insecure"));
}

// Its name in brackets is what clients give as their target.
TEST_F(CommandTest, ServeListensAtAddressesOfVersion6) {
  if (std::ifstream("/proc/net/if_inet6").peek() == EOF) GTEST_SKIP() << "this host has no IPv6";
  EXPECT_THAT(ReadyLine(Path("ready"), "--listen [::1]:0"),
              ::testing::StartsWith("ready grpc://[::1]:"));
}

TEST_F(CommandTest, ServeReadsAddressesOfVersion6) {
  EXPECT_EQ(Run("serve --listen ::1:0"), 1);
  EXPECT_THAT(output, HasSubstr("[::1]:2222"));
  EXPECT_EQ(Run("serve --listen [::]:0"), 1);
  EXPECT_THAT(output, ::testing::AllOf(HasSubstr("[::]:0"), HasSubstr("insecure")));
}

TEST_F(CommandTest, ServeRefusesWhatIsNoCluster) {
  EXPECT_EQ(Run("serve --cluster '{\"a\": 3}' --job a"), 1);
  EXPECT_THAT(output, HasSubstr("'a'"));
  EXPECT_EQ(Run("serve --cluster '{\"a\": [\"127.0.0.1:0\"]}'"), 1);
  EXPECT_THAT(output, HasSubstr("--job"));
  EXPECT_EQ(Run("serve --cluster '{' --job a"), 1);
  EXPECT_EQ(Run("serve --cluster /nowhere --job a"), 1);
  EXPECT_THAT(output, HasSubstr("/nowhere"));
  EXPECT_EQ(Run("serve --cluster '{\"a\": [\"0.0.0.0:0\"]}' --job a"), 1);
  EXPECT_THAT(output, HasSubstr("insecure"));
  EXPECT_EQ(Run("serve --task -3"), 2);
}

}  // namespace
}  // namespace cli
