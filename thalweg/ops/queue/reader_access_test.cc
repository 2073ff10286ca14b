// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReaderAccessTest : public testing::Test {
 protected:
  explicit ReaderAccessTest(std::string_view reader = "TextLineReaderV2", AttrMap attrs = {})
      : queue_("FIFOQueueV2", {{"component_types", std::vector<DType>{DType::kString}},
                               {"capacity", int64_t{100}}}),
        reader_(reader, std::move(attrs)) {}

  std::string File(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(fs_, directory_.Path(name), text).ok());
    return directory_.Path(name);
  }
  void Enqueue(const std::string& work) {
    EXPECT_TRUE(queue_
                    .Run("QueueEnqueueV2", {Tensor::Scalar(work)},
                         {{"Tcomponents", std::vector<DType>{DType::kString}}})
                    .ok());
  }
  void Close() { EXPECT_TRUE(queue_.Run("QueueCloseV2").ok()); }
  StartedCall Read() { return reader_.Start("ReaderReadV2", {queue_.handle()}, {}); }
  StartedCall ReadUpTo(int64_t n) {
    return reader_.Start("ReaderReadUpToV2", {queue_.handle(), Tensor::Scalar(n)}, {});
  }
  // The value, or the error.
  static std::string Value(const KernelCall& call) {
    if (!call.ended()) return "waits";
    return call.status().ok() ? call.output(1).scalar<std::string>() : call.status().ToString();
  }
  static std::vector<std::string> Values(const KernelCall& call) {
    if (!call.ended() || !call.status().ok()) return {Value(call)};
    const auto values = call.output(1).flat<std::string>();
    return {values.begin(), values.end()};
  }
  int64_t Number(std::string_view op) {
    const auto call = reader_.Start(op, {}, {});
    return reader_.first().ok() ? call->output(0).scalar<int64_t>() : -1;
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  QueueCalls queue_, reader_;
};

TEST_F(ReaderAccessTest, RecordsOfFileAfterFile) {
  Enqueue(File("a", "one\ntwo\n"));
  Enqueue(File("empty", ""));
  Enqueue(File("b", "three"));
  Close();
  EXPECT_EQ(Value(*Read()), "one");
  EXPECT_EQ(Number("ReaderNumWorkUnitsCompletedV2"), 0);
  const auto second = Read();
  EXPECT_EQ(second->output(0).scalar<std::string>(), directory_.Path("a") + ":2");
  EXPECT_EQ(Value(*Read()), "three");
  EXPECT_EQ(Number("ReaderNumRecordsProducedV2"), 3);
  EXPECT_EQ(Number("ReaderNumWorkUnitsCompletedV2"), 2);
  const auto last = Read();
  EXPECT_EQ(last->status().code(), Code::kOutOfRange);
  EXPECT_THAT(Value(*last), HasSubstr("is closed and has insufficient elements"));
  EXPECT_EQ(Number("ReaderNumWorkUnitsCompletedV2"), 3);
}

TEST_F(ReaderAccessTest, ABatchEndsWithItsFile) {
  Enqueue(File("a", "1\n2\n3\n"));
  Enqueue(File("b", "4\n"));
  EXPECT_THAT(Values(*ReadUpTo(2)), ElementsAre("1", "2"));
  EXPECT_THAT(Values(*ReadUpTo(2)), ElementsAre("3"));
  EXPECT_THAT(Values(*ReadUpTo(2)), ElementsAre("4"));
  EXPECT_THAT(Value(*ReadUpTo(0)), HasSubstr("num_records must be at least 1"));
}

TEST_F(ReaderAccessTest, CallsWaitInTurnAndHoldNoThread) {
  const auto first = Read(), second = Read(), third = Read();
  EXPECT_FALSE(first->ended());
  Enqueue(File("a", "1\n2\n"));
  EXPECT_EQ(Value(*first), "1");
  EXPECT_EQ(Value(*second), "2");
  EXPECT_EQ(Value(*third), "waits");
  Close();
  EXPECT_EQ(third->status().code(), Code::kOutOfRange);
}

TEST_F(ReaderAccessTest, WhatIsCancelledTakesNothing) {
  const auto first = Read(), second = Read(), third = Read();
  second->cancellation().Cancel();
  EXPECT_EQ(second->status().code(), Code::kCancelled);
  first->cancellation().Cancel();
  EXPECT_EQ(first->status().code(), Code::kCancelled);
  Enqueue(File("a", "1\n"));
  EXPECT_EQ(Value(*third), "1");
}

TEST_F(ReaderAccessTest, AFileThatIsNotThereIsAnErrorOnce) {
  Enqueue(directory_.Path("none"));
  Enqueue(File("a", "1\n"));
  const auto none = Read();
  EXPECT_EQ(none->status().code(), Code::kNotFound);
  EXPECT_THAT(Value(*none), HasSubstr(directory_.Path("none")));
  EXPECT_EQ(Value(*Read()), "1");
  const auto waiting = Read();
  Enqueue(directory_.Path("none"));
  EXPECT_EQ(waiting->status().code(), Code::kNotFound);
  Enqueue(File("b", "2\n"));
  EXPECT_EQ(Value(*Read()), "2") << "the turn was given back";
}

TEST_F(ReaderAccessTest, ResetForgetsTheFile) {
  Enqueue(File("a", "1\n2\n"));
  EXPECT_EQ(Value(*Read()), "1");
  EXPECT_TRUE(reader_.Run("ReaderResetV2").ok());
  EXPECT_EQ(Number("ReaderNumRecordsProducedV2"), 0);
  Enqueue(File("b", "3\n"));
  EXPECT_EQ(Value(*Read()), "3");
  EXPECT_EQ(reader_.Run("ReaderSerializeStateV2").code(), Code::kUnimplemented);
}

class WholeFileReaderTest : public ReaderAccessTest {
 protected:
  WholeFileReaderTest() : ReaderAccessTest("WholeFileReaderV2") {}
};

TEST_F(WholeFileReaderTest, StateIsTheMessageOfTensorFlow) {
  Enqueue(File("a", "text"));
  EXPECT_EQ(Value(*Read()), "text");
  const auto saved = reader_.Start("ReaderSerializeStateV2", {}, {});
  const Tensor state = saved->output(0);
  const std::string path = directory_.Path("a");
  EXPECT_EQ(state.scalar<std::string>(),
            StrCat("\x08\x01\x10\x01\x18\x01\x22", static_cast<char>(path.size()), path));
  EXPECT_TRUE(reader_.Run("ReaderResetV2").ok());
  EXPECT_EQ(Number("ReaderNumRecordsProducedV2"), 0);
  EXPECT_TRUE(reader_.Run("ReaderRestoreStateV2", {state}).ok());
  EXPECT_EQ(Number("ReaderNumRecordsProducedV2"), 1);
  // A file that was begun and could not be read is the next one; such a state is not restored.
  Enqueue(directory_.Path("later"));
  EXPECT_EQ(Read()->status().code(), Code::kNotFound);
  const auto begun = reader_.Start("ReaderSerializeStateV2", {}, {});
  EXPECT_THAT(reader_.Run("ReaderRestoreStateV2", {begun->output(0)}).ToString(),
              HasSubstr("Inconsistent work started vs. finished"));
  File("later", "more");
  EXPECT_EQ(Value(*Read()), "more");
  for (const char* bad : {"junk", "\x08\x05", "\x10\x01", "\x22"}) {
    EXPECT_EQ(reader_.Run("ReaderRestoreStateV2", {Tensor::Scalar(bad)}).code(),
              Code::kInvalidArgument)
        << bad;
  }
  EXPECT_EQ(Number("ReaderNumRecordsProducedV2"), 2) << "what cannot be read changes nothing";
}

TEST_F(WholeFileReaderTest, WhatComesFromTheQueueMustBeAName) {
  const QueueCalls numbers("FIFOQueueV2", {{"component_types", std::vector<DType>{DType::kInt32}},
                                           {"capacity", int64_t{1}}});
  const auto call = reader_.Start("ReaderReadV2", {numbers.handle()}, {});
  EXPECT_THAT(Value(*call), HasSubstr("Expected a queue of one component of strings"));
  EXPECT_TRUE(queue_
                  .Run("QueueEnqueueV2", {Tensor::Vector<std::string>({"a", "b"})},
                       {{"Tcomponents", std::vector<DType>{DType::kString}}})
                  .ok());
  EXPECT_THAT(Value(*Read()), HasSubstr("one-element string tensor"));
}

}  // namespace
}  // namespace thalweg
