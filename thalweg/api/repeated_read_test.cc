// SPDX-License-Identifier: Apache-2.0
// Steps of a queue's runner that enqueue several records: with the effects of one step after the
// other, however many there are in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "thalweg/api/registries.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/session/session.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kOneStep = std::chrono::nanoseconds(0);
constexpr auto kToTheEnd = std::chrono::hours(24);  // an error comes first

class RepeatedReadTest : public ::testing::Test {
 protected:
  // Makes records of files, which `Work` names, go into a queue of `capacity` elements.
  void Make(const char* reader_op, int64_t capacity, bool with_keys = false, int64_t limit = 0) {
    environment_ = *Environment::Create({.threads = 1, .memory_limit = limit}, MakeRegistries());
    graph_ = std::make_shared<Graph>(environment_->shared_ops());
    GraphBuilder b(graph_.get());
    const std::vector<DType> one = {DType::kString}, components(with_keys ? 2 : 1, DType::kString);
    const Output names =
        b.Op("FIFOQueueV2", {}, {{"component_types", one}, {"capacity", int64_t{100}}}, "names");
    const Output queue =
        b.Op("FIFOQueueV2", {}, {{"component_types", components}, {"capacity", capacity}}, "queue");
    const Output reader = b.Op(reader_op, {}, {}, "reader");
    Node* const read = b.OpNode("ReaderReadV2", {reader, names}, {}, "read");
    std::vector<Output> element = {queue, {read, 1}};
    if (with_keys) element.push_back({read, 0});
    enqueue_ = b.OpNode("QueueEnqueueV2", element, {}, "enqueue");
    name_ = b.Op("Placeholder", {}, {{"dtype", DType::kString}});
    add_name_ = b.OpNode("QueueEnqueueV2", {names, name_}, {});
    close_names_ = b.OpNode("QueueCloseV2", {names}, {});
    close_ = b.OpNode("QueueCloseV2", {queue}, {});
    Node* const dequeue = b.OpNode("QueueDequeueV2", {queue}, {{"component_types", components}});
    element_ = {dequeue, 0};
    if (with_keys) key_ = {dequeue, 1};
    size_ = b.Op("QueueSizeV2", {queue}, {});
    produced_ = b.Op("ReaderNumRecordsProducedV2", {reader}, {});
    ASSERT_TRUE(b.ok()) << b.status().ToString();
    session_ = *MakeLocalSession(environment_, graph_);
    runner_ = *session_->MakeCallable({{}, {}, {enqueue_}});
  }

  std::string File(const std::string& name, const std::string& bytes) {
    PosixFileSystem fs;
    EXPECT_TRUE(WriteFileAtomically(fs, directory_.Path(name), bytes).ok());
    return directory_.Path(name);
  }
  static std::string Lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += StrCat(i, "\n");
    return text;
  }
  void Work(const std::string& path) {
    const Tensor name = Tensor::Scalar(path);
    EXPECT_TRUE(session_->Run({}, {{name_}, {}, {add_name_}}, {&name, 1}, {}).ok());
  }
  Status Run(Node* target) { return session_->Run({}, {{}, {}, {target}}, {}, {}); }
  Tensor Value(Output fetch) {
    Tensor out;
    const Status status = session_->Run({}, {{}, {fetch}, {}}, {}, {&out, 1});
    EXPECT_TRUE(status.ok()) << status.ToString();
    return out;
  }
  int32_t Size() { return Value(size_).scalar<int32_t>(); }
  int64_t Produced() { return Value(produced_).scalar<int64_t>(); }
  std::string Take() { return Value(element_).scalar<std::string>(); }
  std::vector<std::string> TakeAll() {
    std::vector<std::string> all;
    for (int n = Size(); n > 0; --n) all.push_back(Take());
    return all;
  }
  static std::vector<std::string> Numbers(int from, int to) {
    std::vector<std::string> all;
    for (int i = from; i < to; ++i) all.push_back(StrCat(i));
    return all;
  }

  TemporaryDirectory directory_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Callable> runner_;
  Node *enqueue_, *add_name_, *close_names_, *close_;
  Output name_, element_, key_, size_, produced_;
};

TEST_F(RepeatedReadTest, AStepOfARowEnqueuesSeveralAnyOtherOne) {
  Make("TextLineReaderV2", 1000);
  Work(File("f", Lines(0, 100)));
  EXPECT_TRUE(Run(enqueue_).ok());
  EXPECT_EQ(Size(), 1);
  EXPECT_TRUE(runner_->Run({}, {}).ok());
  EXPECT_EQ(Size(), 2);
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  EXPECT_EQ(Size(), 2 + 64);
  EXPECT_EQ(Produced(), 2 + 64);
  EXPECT_TRUE(runner_->Repeat({.timeout = std::chrono::hours(1)}, kOneStep).ok());
  EXPECT_EQ(Size(), 2 + 64 + 1) << "the time of one step is not that of several";
  EXPECT_EQ(TakeAll(), Numbers(0, 67));
}

TEST_F(RepeatedReadTest, LargeRecordsAreFewer) {
  Make("TextLineReaderV2", 1000);
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::string(100'000, 'x') + "\n";
  Work(File("f", text));
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  EXPECT_EQ(Size(), 1 + 3);
}

TEST_F(RepeatedReadTest, NoMoreAreReadThanThereIsRoomFor) {
  Make("TextLineReaderV2", 4);
  Work(File("f", Lines(0, 100)));
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  EXPECT_EQ(Size(), 4);
  EXPECT_EQ(Produced(), 4);
  EXPECT_EQ(Take(), "0");
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  EXPECT_EQ(Produced(), 5);
  EXPECT_EQ(TakeAll(), Numbers(1, 5));
}

TEST_F(RepeatedReadTest, KeysComeWithTheirRecords) {
  Make("TextLineReaderV2", 100, true);
  const std::string path = File("f", Lines(0, 3));
  Work(path);
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  for (int i = 0; i < 3; ++i) {
    Tensor pair[2];
    ASSERT_TRUE(session_->Run({}, {{}, {element_, key_}, {}}, {}, pair).ok());
    EXPECT_EQ(pair[0].scalar<std::string>(), StrCat(i));
    EXPECT_EQ(pair[1].scalar<std::string>(), StrCat(path, ":", i + 1));
  }
  EXPECT_EQ(Size(), 0);
}

TEST_F(RepeatedReadTest, FileAfterFileToTheEndWhichTheReadTells) {
  Make("TextLineReaderV2", 1000);
  Work(File("a", Lines(0, 70)));
  Work(File("empty", ""));
  Work(File("b", Lines(70, 75)));
  EXPECT_TRUE(Run(close_names_).ok());
  const Status status = runner_->Repeat({}, kToTheEnd);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_THAT(status.ToString(), HasSubstr("[[ReaderReadV2 'read'"));
  EXPECT_EQ(TakeAll(), Numbers(0, 75));
}

TEST_F(RepeatedReadTest, WhatComesBeforeADamagedRecordIsThereAndTheReadTellsOfIt) {
  Make("TFRecordReaderV2", 1000);
  std::string bytes = FrameRecord("one") + FrameRecord("two") + FrameRecord("three");
  bytes[bytes.size() - 6] ^= 1;
  Work(File("f", bytes));
  EXPECT_TRUE(runner_->Repeat({}, kOneStep).ok());
  EXPECT_EQ(Produced(), 2);
  const Status status = runner_->Repeat({}, kOneStep);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.ToString(), HasSubstr("[[ReaderReadV2 'read'"));
  EXPECT_THAT(TakeAll(), ElementsAre("one", "two"));
}

TEST_F(RepeatedReadTest, AClosedQueueIsTheErrorOfTheEnqueueAndLosesOneRecord) {
  Make("TextLineReaderV2", 1000);
  Work(File("f", Lines(0, 100)));
  EXPECT_TRUE(Run(enqueue_).ok());
  EXPECT_TRUE(Run(close_).ok());
  const Status status = runner_->Repeat({}, kToTheEnd);
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_THAT(status.ToString(), HasSubstr("[[QueueEnqueueV2 'enqueue'"));
  EXPECT_THAT(status.ToString(), Not(HasSubstr("_EnqueueRecords")));
  EXPECT_EQ(Produced(), 2);
  EXPECT_EQ(Size(), 1);
}

TEST_F(RepeatedReadTest, AFullQueueIsWaitedAtAndNamed) {
  Make("TextLineReaderV2", 2);
  Work(File("f", Lines(0, 100)));
  const Status status = runner_->Repeat({.timeout = std::chrono::milliseconds(300)}, kToTheEnd);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(status.ToString(), HasSubstr("QueueEnqueueV2 'enqueue' for queue 'queue'"));
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(Produced(), 3) << "one is in hand, as in any enqueue that waits";
}

TEST_F(RepeatedReadTest, ACancelledRunnerHasOneRecordInHand) {
  Make("TextLineReaderV2", 2);
  Work(File("f", Lines(0, 100)));
  CancellationManager cancellation;
  Status status;
  std::thread thread([&] { status = runner_->Repeat({.cancellation = &cancellation}, kToTheEnd); });
  while (Produced() < 3) std::this_thread::yield();
  cancellation.Cancel(Cancelled("enough"));
  thread.join();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_THAT(TakeAll(), ElementsAre("0", "1"));
  EXPECT_TRUE(Run(enqueue_).ok());
  EXPECT_EQ(Take(), "3");
}

TEST_F(RepeatedReadTest, ARunnerAndADequeueMeetAtASmallQueueInOrder) {
  Make("TextLineReaderV2", 3);
  constexpr int kRecords = 3000;
  Work(File("f", Lines(0, kRecords)));
  EXPECT_TRUE(Run(close_names_).ok());
  std::thread thread([&] { EXPECT_EQ(runner_->Repeat({}, kToTheEnd).code(), Code::kOutOfRange); });
  for (int i = 0; i < kRecords; ++i) ASSERT_EQ(Take(), StrCat(i));
  thread.join();
  EXPECT_EQ(Size(), 0);
}

TEST_F(RepeatedReadTest, TwoRunnersOfOneReaderLoseNothingAndRepeatNothing) {
  Make("TextLineReaderV2", 5);
  constexpr int kRecords = 4000;
  Work(File("a", Lines(0, kRecords / 2)));
  Work(File("b", Lines(kRecords / 2, kRecords)));
  EXPECT_TRUE(Run(close_names_).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back(
        [&] { EXPECT_EQ(runner_->Repeat({}, kToTheEnd).code(), Code::kOutOfRange); });
  }
  std::vector<std::string> all;
  for (int i = 0; i < kRecords; ++i) all.push_back(Take());
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> expected = Numbers(0, kRecords);
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
  EXPECT_EQ(Produced(), kRecords);
  EXPECT_THAT(TakeAll(), IsEmpty());
}

TEST_F(RepeatedReadTest, WhatFindsNoRoomInMemoryIsReadLater) {
  constexpr int64_t kLimit = int64_t{16} << 20;
  Make("TextLineReaderV2", 1000, false, kLimit);
  // So small that several go into one step.
  constexpr int kRecords = 200;
  constexpr size_t kBytes = 100'000;
  std::string text;
  for (int i = 0; i < kRecords; ++i) text += StrCat(i, std::string(kBytes, 'x'), "\n");
  Work(File("f", text));
  EXPECT_TRUE(Run(close_names_).ok());
  int next = 0;
  Status status;
  while (status = runner_->Repeat({}, kToTheEnd), status.code() == Code::kResourceExhausted) {
    const std::vector<std::string> some = TakeAll();
    ASSERT_THAT(some, Not(IsEmpty()));
    for (const std::string& record : some) {
      ASSERT_TRUE(record.starts_with(StrCat(next, "x"))) << next;
      ++next;
    }
  }
  EXPECT_EQ(status.code(), Code::kOutOfRange) << status.ToString();
  EXPECT_EQ(next + Size(), kRecords);
}

// The value has room and its key, of a long name, has none: the value is the next one's. A step of
// its own that fails loses its record, as it always does.
TEST_F(RepeatedReadTest, WhatHasNoRoomForItsKeyIsReadLater) {
  constexpr int kRecords = 20'000;
  const std::string path = File(std::string(200, 'f'), Lines(0, kRecords));
  for (int64_t more = 0; more < 1024; more += 64) {
    Make("TextLineReaderV2", kRecords, true, (int64_t{4} << 20) + more);
    Work(path);
    EXPECT_TRUE(Run(close_names_).ok());
    int last = -1, taken = 0, failures = 0;
    Status status;
    while (status = runner_->Repeat({}, kToTheEnd), status.code() == Code::kResourceExhausted) {
      ++failures;
      for (const std::string& record : TakeAll()) {
        const int number = std::stoi(record);
        ASSERT_GT(number, last);
        last = number;
        ++taken;
      }
    }
    EXPECT_EQ(status.code(), Code::kOutOfRange) << status.ToString();
    ASSERT_GT(failures, 0) << "the limit was not reached";
    EXPECT_GE(taken + Size(), kRecords - failures);
  }
}

}  // namespace
}  // namespace thalweg
