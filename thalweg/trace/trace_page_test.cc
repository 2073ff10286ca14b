// SPDX-License-Identifier: Apache-2.0
// The page of a trace: what it holds. What it shows is tested in a browser (tests/tensorboard).
#include "thalweg/trace/trace_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/trace/page_column.h"
#include "thalweg/trace/test_memory_step.h"
#include "thalweg/trace/test_step.h"
#include "thalweg/trace/trace_filter.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string BytesOfBase64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

std::vector<uint64_t> WordsOf(const std::string& bytes) {
  std::vector<uint64_t> words(bytes.size() / 4);
  for (size_t i = 0; i < words.size() * 4; ++i) {
    words[i / 4] |= uint64_t{static_cast<uint8_t>(bytes[i])} << (i % 4 * 8);
  }
  return words;
}

// The numbers of the blocks of a comment (page_column.h), bit by bit.
std::vector<uint64_t> NumbersOf(const std::vector<uint64_t>& words) {
  std::vector<uint64_t> numbers;
  for (size_t at = 0; at < words.size();) {
    const uint64_t head = words.at(at++), width = head & 63, count = (head >> 8 & 255) + 1;
    const size_t first = numbers.size();
    numbers.resize(first + count);
    for (size_t bit = 0; bit < count * width; ++bit) {
      const uint64_t digit = words.at(at + bit / 32) >> (bit % 32) & 1;
      numbers[first + bit / width] |= digit << (bit % width);
    }
    at += (count * width + 31) / 32;
    for (uint64_t larger = head >> 16; larger > 0; --larger, at += 2) {
      const uint64_t above = words.at(at) >> 8 | words.at(at + 1) << 24;
      numbers.at(first + (words.at(at) & 255)) |= above << width;
    }
  }
  return numbers;
}

// The numbers of a column, from all of its comments.
std::vector<int64_t> ColumnOf(const std::string& page, const std::string& name, bool is_signed) {
  const std::string head = "<!--column " + name + " ";
  std::vector<int64_t> values;
  for (size_t at = page.find(head); at != std::string::npos; at = page.find(head, at + 1)) {
    const size_t begin = at + head.size();
    const std::string bytes = BytesOfBase64(page.substr(begin, page.find("-->", begin) - begin));
    for (const uint64_t value : NumbersOf(WordsOf(bytes))) {
      const auto plain = static_cast<int64_t>(value >> 1);
      values.push_back(!is_signed       ? static_cast<int64_t>(value)
                       : value % 2 == 0 ? plain
                                        : -plain - 1);
    }
  }
  return values;
}

std::string JsonOf(const std::string& page, const std::string& id) {
  const std::string head = "<script type=\"application/json\" id=\"" + id + "\">";
  const size_t begin = page.find(head) + head.size();
  return page.substr(begin, page.find('<', begin) - begin);
}

// Of each width, of none, with some that are much larger, in blocks and comments that are full
// or not.
TEST(PageColumnTest, NumbersAreThoseThatWereAdded) {
  std::vector<int64_t> numbers;
  for (const size_t count : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{300'000}}) {
    for (int bits = 0; bits<64; bits += count> 1000 ? 21 : 1) {
      uint64_t state = 1;
      std::string page;
      numbers.clear();
      {
        PageColumn column("numbers", &page);
        for (size_t i = 0; i < count; ++i) {
          state = state * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
          const uint64_t number = (state >> 1) & ((uint64_t{1} << (i % 97 == 5 ? 63 : bits)) - 1);
          numbers.push_back(static_cast<int64_t>(number));
          column.Add(number);
        }
      }
      ASSERT_EQ(ColumnOf(page, "numbers", false), numbers) << count << " of " << bits << " bits";
    }
  }
}

TEST(PageColumnTest, ManySmallNumbersTakeTheirBits) {
  std::string page;
  {
    PageColumn column("numbers", &page);
    for (int i = 0; i < 25'600; ++i) column.AddSigned(i % 100 == 0 ? int64_t{1} << 40 : -(i % 8));
  }
  EXPECT_LT(page.size(), 25'600U * (4 + 1) / 6 + 256U * 100 / 6 * 2);
}

TEST(TracePageTest, ColumnsHoldEverySpan) {
  TestStep step;
  step.Node(kWorker, "a", "Op", 0, 10);
  step.Node(kWorker, "b", "Op", 5, 400, 2);  // overlaps the first: another lane
  step.Node(kWorker, "a", "Op", 12, 20);
  step.Node(kPs, "c", "Other", 1, 3);
  const std::string page = TracePage(*step.Finished());
  EXPECT_THAT(JsonOf(page, "rows"), HasSubstr("\"spans\": 4"));
  EXPECT_THAT(ColumnOf(page, "gap", true), ElementsAre(0, 2000, 5000, 1000));
  EXPECT_THAT(ColumnOf(page, "time", false), ElementsAre(10'000, 8000, 395'000, 2000));
  EXPECT_THAT(ColumnOf(page, "waited", false), ElementsAre(0, 0, 3000, 0));
  const std::vector<int64_t> labels = ColumnOf(page, "label", false);
  EXPECT_EQ(labels[0], 0) << "what is there most often has the shortest number";
  EXPECT_EQ(labels[1], 0);
  EXPECT_THAT(ColumnOf(page, "bytes", false), ElementsAre());
}

TEST(TracePageTest, CausesAreWhatCameLast) {
  TestStep step;
  step.Node(kWorker, "a", "Op", 0, 10).Node(kWorker, "b", "Op", 0, 30);
  step.Node(kWorker, "c", "Op", 31, 40);
  step.GraphNode(0, "a", "Op", {});
  step.GraphNode(0, "b", "Op", {});
  Message* node = step.GraphNode(0, "c", "Op", {"a", "b"});
  node->SetString(pb::NodeDef::kDevice, kWorker);
  const std::string page = TracePage(*step.Finished());
  // Lanes: a, c; b. So c has the place 1, b the place 2.
  EXPECT_THAT(ColumnOf(page, "cause", true), ElementsAre(0, 1, 0));
}

// By name and device; inputs are twice their node, control inputs one more.
TEST(TracePageTest, GraphsOfPartitionsWithTheirSendsAndRecvs) {
  TestStep step;
  step.Node(kPs, "v", "Const", 0, 10).Node(kWorker, "y", "MatMul", 50, 90);
  step.GraphNode(0, "v", "Const", {});
  step.Key(step.GraphNode(0, "v/send", "_Send", {"v:0"}), "edge_3_v", kPs, kWorker);
  step.Key(step.GraphNode(1, "v/recv", "_Recv", {}), "edge_3_v", kPs, kWorker);
  step.GraphNode(1, "y", "MatMul", {"v/recv", "v/recv:1", "^init", "^gone"});
  step.GraphNode(1, "init", "NoOp", {});
  const std::string page = TracePage(*step.Finished());
  EXPECT_THAT(JsonOf(page, "graph-nodes"),
              HasSubstr(R"("names": ["init", "v", "v/recv", "v/send", "y"])"));
  EXPECT_THAT(JsonOf(page, "graph-nodes"),
              HasSubstr(R"("ops": ["NoOp", "Const", "_Recv", "_Send", "MatMul"])"));
  EXPECT_THAT(ColumnOf(page, "graph-device", false), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(ColumnOf(page, "graph-op", false), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ColumnOf(page, "graph-inputs", false), ElementsAre(0, 0, 1, 1, 3));
  EXPECT_THAT(ColumnOf(page, "graph-input", false), ElementsAre(6, 2, 4, 4, 1));
}

TEST(TracePageTest, LabelsAloneAreNoGraph) {
  TestStep step;
  step.Node(kPs, "v", "Const()", 0, 10).Node(kPs, "y", "MatMul(v, v)", 10, 90);
  EXPECT_THAT(TracePage(*step.Finished()), Not(HasSubstr("id=\"graph-nodes\"")));
}

// Kind 5 are values that nobody reads in gradients; the page has them as differences.
TEST(TracePageTest, MemoryIsACurveForEachKindAndItsHolders) {
  TestMemoryStep step;
  step.Node("v", "VariableV2", 0, 1).Persistent(1000).Output(1000, 0, 70);
  step.Node("y", "MatMul", 10, 20).Came(11, 400).Went(50, 400).Output(400, 400, 71);
  step.Node("z", "Mul", 90, 100);
  const std::string page = TracePage(*step.Finished());
  EXPECT_THAT(JsonOf(page, "memory"), HasSubstr(R"("peak_bytes": 1400, "peak_at": 11000)"));
  EXPECT_THAT(JsonOf(page, "memory"), HasSubstr(R"("names": ["v", "y"])"));
  EXPECT_THAT(ColumnOf(page, "memory-at", true), ElementsAre(0, 11'000, 39'000));
  EXPECT_THAT(ColumnOf(page, "memory-0", true), ElementsAre(1000, 0, 0));
  EXPECT_THAT(ColumnOf(page, "memory-5", true), ElementsAre(0, 400, -400));
  EXPECT_THAT(ColumnOf(page, "holder-bytes", true), ElementsAre(1000, 400));
  EXPECT_THAT(ColumnOf(page, "holder-time", true), ElementsAre(100'000, 39'000));
  EXPECT_THAT(TracePage(*TestStep().Node(kWorker, "a", "Op", 0, 10).Finished()),
              Not(HasSubstr("id=\"memory\"")));
}

TEST(TracePageTest, NamesAreNeverMarkup) {
  TestStep step;
  const std::string hostile = "</script><img src=x onerror=alert(1)>";
  step.Node(kWorker, hostile, hostile, 0, 10);
  step.Node(kWorker + hostile, "<!--<script>", "Op", 0, 10);
  const std::string page = TracePage(*step.Finished());
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cimg src=x"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--<script>")));
}

TEST(TracePageTest, ThePageNeedsNothingElse) {
  const std::string page = TracePage(*TestStep().Node(kWorker, "a", "Op", 0, 10).Finished());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* outside : {"http:", "https:", "src=\"", "href=\"", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("</html>"));
}

// By place: of two threads of one device, of one that waits without a thread in between.
TEST(TracePageTest, SwitchesStandWithTheirSpans) {
  TestStep step;
  step.Node(kPs, "a", "Add", 0, 100, -1, 1).NoProcessor(10, 20, true);
  step.Node(kPs, "asynchronous", "QueueDequeueV2", 5, 1000, -1, 1);
  step.Node(kPs, "b", "Mul", 100, 200, -1, 1);
  step.Node(kPs, "c", "Mul", 200, 300, -1, 1);
  std::string two;
  AppendVarint(two, 30'000);
  AppendVarint(two, 10'000 << 1);
  AppendVarint(two, 5'000);
  AppendVarint(two, 2'000 << 1 | 1);
  step.NoProcessorBytes(two);
  step.Node(kPs, "d", "Mul", 50, 60, -1, 2).NoProcessor(1, 2, true);
  const auto trace = step.Finished();
  const std::string page = TracePage(*trace);
  // Lanes: a, b, c, beside the one that waits, and d.
  EXPECT_THAT(ColumnOf(page, "switch-gap", false),
              testing::UnorderedElementsAre(10'000, 30'000, 5'000, 1'000));
  EXPECT_THAT(
      ColumnOf(page, "switch-time", false),
      testing::UnorderedElementsAre(20'000 << 1 | 1, 10'000 << 1, 2'000 << 1 | 1, 2'000 << 1 | 1));
  EXPECT_EQ(ColumnOf(page, "switch-place", false).size(), 4u);
  EXPECT_THAT(JsonOf(page, "summaries"),
              HasSubstr(R"("no_processor": {"taken_nanos": 24000, "times_taken": 3, )"
                        R"("waited_nanos": 10000, "times_waited": 1})"));
  EXPECT_THAT(ColumnOf(TracePage(*TestStep().Node(kPs, "x", "Add", 0, 9).Finished()),
                       "switch-place", false),
              testing::IsEmpty());
}

// A filter takes them with their nodes.
TEST(TracePageTest, SwitchesOfOtherNodesAreNotThere) {
  TestStep step;
  step.Node(kPs, "a", "Add", 0, 100).NoProcessor(10, 20, true);
  step.Node(kPs, "b", "Add", 100, 200).NoProcessor(10, 30, true);
  const auto trace = step.Finished();
  ASSERT_EQ(trace->switches.size(), 2u);
  ASSERT_TRUE(FilterTrace({.nodes = {"b"}}, trace.get()).ok());
  ASSERT_EQ(trace->switches.size(), 1u);
  EXPECT_EQ(trace->switches[0].span, 0u);
  EXPECT_THAT(ColumnOf(TracePage(*trace), "switch-time", false), ElementsAre(30'000 << 1 | 1));
}

}  // namespace
}  // namespace thalweg
