// SPDX-License-Identifier: Apache-2.0
// placement_benchmark [SECONDS]: predicted steps of three kinds of graphs on 2, 4 and 8 devices:
// all nodes on one, dealt in turn, placed greedily, and searched for SECONDS (1). Then the time
// that greedy placement takes for 36,000 nodes on 8 devices.
//
// The graphs are costs, not nodes: an Inception-like network for 32 pictures, an LSTM of four
// layers unrolled over 40 steps, a wide-and-deep network whose tables are variables of 40 MB.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "thalweg/placement/search_placer.h"

namespace thalweg {
namespace {

constexpr double kFlops = 5e10, kNode = 5e-6;  // of a device

Machine MachineWith(int num_devices, double bytes_per_second) {
  std::vector<DeviceModel> devices;
  for (int d = 0; d < num_devices; ++d) devices.push_back({.name = std::to_string(d), .pool = d});
  Machine machine(devices);
  machine.SetAllLinks({.latency = 5e-5, .bytes_per_second = bytes_per_second});
  return machine;
}

// A workload and the shorthand that builds it.
class Builder {
 public:
  explicit Builder(int num_devices) : num_devices_(num_devices) {}
  // The number of a node that makes one value.
  int Node(double flops, double bytes, const std::vector<int>& reads) {
    Workload::Node node{.group = NewGroup(), .values = {bytes}};
    node.seconds.assign(static_cast<size_t>(num_devices_), kNode + flops / kFlops);
    for (const int from : reads) node.reads.push_back({from, 0});
    return Push(std::move(node));
  }
  int Variable(double bytes) {
    return Push({.group = NewGroup(), .is_source = true, .values = {bytes}, .state = bytes});
  }
  int Feed(double bytes) {
    return Push({.group = NewGroup(),
                 .is_source = true,
                 .home = Workload::Home::kClient,
                 .values = {bytes}});
  }
  // Reads a variable on its device.
  int With(int variable, double flops, double bytes, const std::vector<int>& reads) {
    const int made = Node(flops, bytes, reads);
    work.nodes[made].reads.push_back({variable, 0});
    work.groups.pop_back();
    work.nodes[made].group = work.nodes[variable].group;
    return made;
  }
  Workload work;

 private:
  int NewGroup() {
    work.groups.push_back({.may = std::vector<bool>(static_cast<size_t>(num_devices_), true)});
    return static_cast<int>(work.groups.size()) - 1;
  }
  int Push(Workload::Node node) {
    work.nodes.push_back(std::move(node));
    return static_cast<int>(work.nodes.size()) - 1;
  }
  const int num_devices_;
};

Workload Inception(int num_devices) {
  Builder b(num_devices);
  constexpr double kPixels = 32.0 * 28 * 28;
  const auto convolution = [&](int x, double in, double out, double window) {
    const int w = b.Variable(4 * in * out * window);
    const int y = b.Node(2 * kPixels * in * out * window, 4 * kPixels * out, {x, w});
    return b.Node(kPixels * out, 4 * kPixels * out, {y});
  };
  int x = b.Feed(4 * kPixels * 192);
  double in = 192;
  for (int module = 0; module < 9; ++module) {
    const int one = convolution(x, in, 64, 1);
    const int three = convolution(convolution(x, in, 96, 1), 96, 128, 9);
    const int five = convolution(convolution(x, in, 16, 1), 16, 32, 25);
    const int pooled = b.Node(9 * kPixels * in, 4 * kPixels * in, {x});
    const int last = convolution(pooled, in, 32, 1);
    in = 256;
    x = b.Node(0, 4 * kPixels * in, {one, three, five, last});
  }
  return b.work;
}

Workload Lstm(int num_devices) {
  Builder b(num_devices);
  constexpr double kRows = 64, kUnits = 512;
  std::vector<int> weights, state;
  for (int layer = 0; layer < 4; ++layer) {
    weights.push_back(b.Variable(4 * 8 * kUnits * kUnits));
    state.push_back(b.Feed(4 * kRows * kUnits));
  }
  for (int step = 0; step < 40; ++step) {
    int x = b.Feed(4 * kRows * kUnits);
    for (int layer = 0; layer < 4; ++layer) {
      const int gates = b.Node(2 * kRows * 2 * kUnits * 4 * kUnits, 4 * kRows * 4 * kUnits,
                               {x, state[layer], weights[layer]});
      state[layer] = b.Node(30 * kRows * kUnits, 4 * kRows * kUnits, {gates, state[layer]});
      x = state[layer];
    }
  }
  return b.work;
}

Workload WideAndDeep(int num_devices) {
  Builder b(num_devices);
  constexpr double kRows = 2048, kWidth = 64;
  std::vector<int> looked_up;
  for (int table = 0; table < 26; ++table) {
    const int ids = b.Feed(8 * kRows);
    const int variable = b.Variable(4e7);
    const int rows = b.With(variable, 2e7, 4 * kRows * kWidth, {ids});
    looked_up.push_back(b.Node(4 * kRows * kWidth, 4 * kRows * kWidth, {rows}));
  }
  int x = b.Node(0, 4 * kRows * kWidth * 26, looked_up);
  double in = kWidth * 26;
  for (const double out : {1024.0, 512.0, 256.0, 1.0}) {
    const int w = b.Variable(4 * in * out);
    x = b.Node(2 * kRows * in * out, 4 * kRows * out, {x, w});
    in = out;
  }
  return b.work;
}

std::vector<int> Dealt(const Workload& work, int num_devices) {
  std::vector<int> device(work.groups.size());
  for (size_t g = 0; g < device.size(); ++g) device[g] = static_cast<int>(g) % num_devices;
  return device;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Show(const char* name, const Machine& machine, const Workload& work, double seconds) {
  if (const Status status = work.Validate(machine); !status.ok()) {
    std::printf("%s: %s\n", name, std::string(status.message()).c_str());
    return;
  }
  const Simulator simulator(machine, work);
  const auto millis = [&](const std::vector<int>& device) {
    return simulator.Score(device).makespan * 1e3;
  };
  SystemClock clock;
  const SearchPlacer search(
      {.evaluations = 1 << 30,
       .clock = &clock,
       .end = clock.Now() + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9))});
  const SearchedPlacement found = search.Place(simulator);
  std::printf("| %s | %d | %.2g | %.1f | %.1f | %.1f | %.1f | %d |\n", name, machine.num_devices(),
              machine.link(0, 1).bytes_per_second / 1e9,
              millis(std::vector<int>(work.groups.size())),
              millis(Dealt(work, machine.num_devices())), millis(simulator.PlaceGreedily()),
              found.score.makespan * 1e3, found.evaluations);
}

void TimeGreedy() {
  constexpr int kDevices = 8, kNodes = 36000;
  const Machine machine = MachineWith(kDevices, 1e9);
  Builder b(kDevices);
  std::mt19937_64 random(1);
  b.Feed(1e6);
  while (b.work.nodes.size() < kNodes) {
    const auto n = b.work.nodes.size();
    std::vector<int> reads;
    for (size_t i = 0; i < 2; ++i) {
      reads.push_back(static_cast<int>(n - 1 - random() % std::min<size_t>(n, 300)));
    }
    b.Node(static_cast<double>(random() % 10000000), static_cast<double>(random() % 100000), reads);
  }
  const double start = Now();
  const Simulator simulator(machine, b.work);
  const std::vector<int> device = simulator.PlaceGreedily();
  const double placed = Now();
  const double makespan = simulator.Score(device).makespan;
  std::printf(
      "%d nodes on %d devices: placed greedily in %.0f ms, simulated in %.0f ms (%.0f ms; "
      "all on one %.0f ms)\n",
      kNodes, kDevices, (placed - start) * 1e3, (Now() - placed) * 1e3, makespan * 1e3,
      simulator.Score(std::vector<int>(b.work.groups.size())).makespan * 1e3);
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  std::printf(
      "predicted milliseconds of a step\n\n"
      "| graph | devices | GB/s | all on one | dealt in turn | greedy | searched | tried |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const int devices : {2, 4, 8}) {
    for (const double bytes : {1e9, 1e10}) {
      const thalweg::Machine machine = thalweg::MachineWith(devices, bytes);
      thalweg::Show("inception", machine, thalweg::Inception(devices), seconds);
      thalweg::Show("lstm", machine, thalweg::Lstm(devices), seconds);
      thalweg::Show("wide and deep", machine, thalweg::WideAndDeep(devices), seconds);
    }
  }
  thalweg::TimeGreedy();
  return 0;
}
