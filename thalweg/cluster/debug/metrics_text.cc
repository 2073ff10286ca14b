// SPDX-License-Identifier: Apache-2.0
// MetricsText: a task's numbers in Prometheus's text format.
#include "thalweg/base/str_cat.h"
#include "thalweg/cluster/debug/task_metrics.h"

namespace thalweg {
namespace {

// A label's value between quotes.
std::string LabelText(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

class Page {
 public:
  void Begin(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  template <class T>
  void Add(T value) {
    text_ += StrCat(name_, " ", value, "\n");
  }
  template <class T>
  void Add(const char* label, std::string_view of, T value) {
    text_ += StrCat(name_, "{", label, "=\"", LabelText(of), "\"} ", value, "\n");
  }
  template <class T>
  void One(const char* name, const char* type, const char* help, T value) {
    Begin(name, type, help);
    Add(value);
  }
  void Results(const char* name, const char* help, const StepCounter::Values& steps) {
    Begin(name, "counter", help);
    Add("result", "done", steps.done);
    Add("result", "failed", steps.failed);
  }
  void Seconds(const char* name, const char* help, const StepCounter::Values& steps) {
    Begin(name, "histogram", help);
    uint64_t sum = 0;
    for (size_t i = 0; i < steps.by_seconds.size(); ++i) {
      sum += steps.by_seconds[i];
      const std::string bound =
          i < StepCounter::kBounds.size() ? StrCat(StepCounter::kBounds[i]) : "+Inf";
      text_ += StrCat(name, "_bucket{le=\"", bound, "\"} ", sum, "\n");
    }
    text_ += StrCat(name, "_sum ", steps.seconds, "\n", name, "_count ", sum, "\n");
  }
  void Bytes(const char* name, const char* help, uint64_t sent, uint64_t received) {
    Begin(name, "counter", help);
    Add("direction", "sent", sent);
    Add("direction", "received", received);
  }
  std::string Take() { return std::move(text_); }

 private:
  const char* name_ = "";
  std::string text_;
};

void AddSteps(const TaskMetrics& metrics, Page* page) {
  page->Results("thalweg_steps_total",
                "Steps that clients asked of this task as their master, by how they ended.",
                metrics.steps);
  page->One("thalweg_steps_open", "gauge", "Such steps that have not ended.", metrics.steps.open);
  page->Seconds("thalweg_step_seconds", "How long such steps took.", metrics.steps);
  page->Results("thalweg_parts_total",
                "Parts of steps that masters had this task run, by how they ended.", metrics.parts);
  page->One("thalweg_parts_open", "gauge", "Such parts that have not ended.", metrics.parts.open);
  page->Seconds("thalweg_part_seconds", "How long such parts took.", metrics.parts);
  page->One("thalweg_oldest_step_seconds", "gauge",
            "Since the oldest open step or part began; 0 where none is open.",
            metrics.oldest_seconds.value_or(0));
  page->One("thalweg_waiting_values", "gauge", "Values that other tasks owe open steps.",
            metrics.waiting_values);
  page->One("thalweg_waiting_nodes", "gauge", "Nodes of open steps that wait.",
            metrics.waiting_nodes);
}

void AddTraffic(const TaskMetrics& metrics, Page* page) {
  page->One("thalweg_calls_total", "counter", "Calls of clients and other tasks.", metrics.calls);
  page->One("thalweg_calls_open", "gauge", "Calls that are not answered.", metrics.open_calls);
  page->One("thalweg_channels_open", "gauge", "Channels to other tasks and clients.",
            metrics.channels);
  page->Bytes("thalweg_channel_bytes_total", "Bytes of tensors through channels.",
              metrics.channel_sent, metrics.channel_received);
  page->Bytes("thalweg_call_bytes_total",
              "Bytes of requests and answers, of calls that came and of calls to other tasks.",
              metrics.call_sent, metrics.call_received);
}

void AddMemory(const TaskMetrics& metrics, Page* page) {
  page->One("thalweg_tensor_bytes", "gauge", "Bytes of the host's memory that tensors hold.",
            metrics.memory.bytes_in_use);
  page->One("thalweg_tensor_peak_bytes", "gauge", "The most that they held at once.",
            metrics.memory.peak_bytes_in_use);
  page->One("thalweg_tensor_limit_bytes", "gauge", "What they may hold.", metrics.memory.limit);
  page->One("thalweg_kept_bytes", "gauge",
            "Bytes taken from the system for tensors, in use or kept for reuse.",
            metrics.memory.bytes_kept);
  page->Begin("thalweg_device_bytes", "gauge",
              "Bytes that tensors hold in a device's memory; CPUs share the host's.");
  for (const DeviceMetrics& device : metrics.devices) {
    page->Add("device", device.name, device.memory.bytes_in_use);
  }
}

}  // namespace

std::string MetricsText(const TaskMetrics& metrics) {
  Page page;
  page.Begin("thalweg_task_info", "gauge", "Which task of its cluster this is; always 1.");
  page.Add("task", metrics.task, 1);
  page.One("thalweg_uptime_seconds", "gauge", "Since the server was started.",
           metrics.uptime_seconds);
  AddSteps(metrics, &page);
  AddTraffic(metrics, &page);
  AddMemory(metrics, &page);
  page.One("thalweg_sessions", "gauge", "Sessions of clients.", metrics.sessions);
  page.One("thalweg_graphs", "gauge", "Graphs that masters registered here.", metrics.graphs);
  page.One("thalweg_threads", "gauge", "Threads of the process.", metrics.process.threads);
  page.One("process_cpu_seconds_total", "counter", "Time of the processor, of all threads.",
           metrics.process.processor_seconds);
  page.One("process_resident_memory_bytes", "gauge", "Resident memory of the process.",
           metrics.process_memory.resident_bytes);
  return page.Take();
}

}  // namespace thalweg
