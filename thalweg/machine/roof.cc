// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/roof.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/base/cgroup.h"
#include "thalweg/base/errno_status.h"
#include "thalweg/base/thread.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/machine/machine_facts.h"

namespace thalweg {
namespace {

constexpr double kSeconds = 0.3;  // of each measurement
constexpr int64_t kRows = 512;    // of the matrices, which stay in the caches
constexpr size_t kMostCopied = size_t{64} << 20;
// Of a quick one.
constexpr double kQuickSeconds = 0.005;
constexpr int64_t kQuickRows = 256;
constexpr size_t kQuickCopied = size_t{16} << 20;
constexpr int kMessages = 2000;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double OwnProcessorTime() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// How often a second all threads together do a piece of work that each of them makes for itself:
// on the average of the time, or where there is little of it by the shortest piece, which nobody
// has disturbed.
double Rate(int threads, const std::function<std::function<void()>()>& make,
            bool is_quick = false) {
  std::vector<std::function<void()>> work;
  for (int i = 0; i < threads; ++i) work.push_back(make());
  std::vector<double> rates(work.size());
  const auto measure = [&](size_t i) {
    work[i]();  // what is done once: pages, frequencies
    const double begin = Now();
    double now = begin;
    double shortest = std::numeric_limits<double>::infinity();
    int64_t done = 0;
    for (double last = now; now - begin < (is_quick ? kQuickSeconds : kSeconds); ++done) {
      work[i]();
      last = std::exchange(now, Now());
      shortest = std::min(shortest, now - last);
    }
    rates[i] = is_quick ? 1 / shortest : static_cast<double>(done) / (now - begin);
  };
  std::vector<Thread> others;
  for (size_t i = 1; i < work.size(); ++i) others.emplace_back("roof", [&, i] { measure(i); });
  measure(0);
  for (Thread& thread : others) thread.Join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

std::function<void()> Product(int64_t rows) {
  struct Matrices {
    std::vector<float> a, b, c;
  };
  const auto size = static_cast<size_t>(rows * rows);
  const auto held = std::make_shared<Matrices>(Matrices{
      std::vector<float>(size, 0.5F), std::vector<float>(size, 0.25F), std::vector<float>(size)});
  return [held, rows] {
    compute::SerialWork work(compute::GetIsaTable(compute::BestIsaLevel()));
    const compute::GemmShape shape = compute::GemmShape::Dense(rows, rows, rows);
    // A refusal of scratch memory shows as a low rate; there is nobody else to tell.
    (void)compute::Gemm(work, DType::kFloat, shape, held->a.data(), held->b.data(), held->c.data());
  };
}

std::function<void()> Copy(size_t bytes) {
  const auto from = std::make_shared<std::vector<char>>(bytes, 1);
  const auto to = std::make_shared<std::vector<char>>(bytes, 2);
  return [from, to] { std::memcpy(to->data(), from->data(), from->size()); };
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// One byte there and back, as often as is wanted; false where the other end has gone.
bool Answer(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, 0) == 1 && send(fd, &byte, 1, MSG_NOSIGNAL) == 1;
}
bool Ask(int fd) {
  char byte = 1;
  return send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1;
}

Status SocketError(const char* action) { return ErrnoStatus(action, "127.0.0.1", errno); }

Result<double> Loopback() {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Socket client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener.fd() < 0 || client.fd() < 0) return SocketError("open a socket for");
  const timeval patience = {.tv_sec = 5, .tv_usec = 0};  // what takes longer is lost
  setsockopt(client.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));  // connect, too
  if (bind(listener.fd(), any, size) != 0 || listen(listener.fd(), 1) != 0 ||
      getsockname(listener.fd(), any, &size) != 0 || connect(client.fd(), any, size) != 0) {
    return SocketError("connect to");
  }
  const Socket server(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (server.fd() < 0) return SocketError("accept from");
  const int on = 1;
  for (const int fd : {client.fd(), server.fd()}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  Thread answers("roof", [&] {
    while (Answer(server.fd())) {
    }
  });
  std::vector<double> times;
  double before = Now();
  while (static_cast<int>(times.size()) < kMessages && Ask(client.fd())) {
    const double now = Now();
    times.push_back(now - before);
    before = now;
  }
  shutdown(client.fd(), SHUT_RDWR);
  answers.Join();
  if (times.empty()) return SocketError("exchange bytes with");
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

double ProductOperations(int64_t rows) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(rows);
}

// All threads' pieces together are a quarter of the memory at most.
size_t CopiedBytes(size_t most, int threads) {
  return std::min(most, static_cast<size_t>(UsableMemory()) / (8 * static_cast<size_t>(threads)));
}

Result<Roof> Measure(int threads) {
  Roof roof{.threads = std::max(threads, 1)};
  const ProcessorTimes before = ReadProcessorTimes();
  const double own = OwnProcessorTime(), begin = Now();
  const double operations = ProductOperations(kRows);
  const size_t copied = CopiedBytes(kMostCopied, roof.threads);
  const auto product = [] { return Product(kRows); };
  const auto copy = [copied] { return Copy(copied); };
  const double bytes = 2.0 * static_cast<double>(copied);
  roof.product_one = operations * Rate(1, product);
  roof.product_all =
      roof.threads == 1 ? roof.product_one : operations * Rate(roof.threads, product);
  roof.copy_one = bytes * Rate(1, copy);
  roof.copy_all = roof.threads == 1 ? roof.copy_one : bytes * Rate(roof.threads, copy);
  if (Result<double> loopback = Loopback(); loopback.ok()) {
    roof.loopback = *loopback;
  } else {
    roof.no_loopback = loopback.status().message();
  }
  const ProcessorTimes after = ReadProcessorTimes();
  const double time = Now() - begin;
  roof.foreign = std::max(0.0, (after.busy - before.busy - (OwnProcessorTime() - own)) / time);
  roof.stolen = (after.stolen - before.stolen) / time;
  return roof;
}

QuickRoof MeasureQuickly(int threads) {
  const size_t copied = CopiedBytes(kQuickCopied, threads);
  const auto product = [] { return Product(kQuickRows); };
  const auto copy = [copied] { return Copy(copied); };
  return {.product = ProductOperations(kQuickRows) * Rate(threads, product, true),
          .copy = 2.0 * static_cast<double>(copied) * Rate(threads, copy, true)};
}

template <class F>
std::invoke_result_t<F&> OrResourceExhausted(int threads, F measure) {
  try {
    return measure();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for the matrices of ", threads, " threads");
  } catch (const std::system_error& e) {
    return ResourceExhausted("no thread could be started: ", e.what());
  }
}

}  // namespace

Result<Roof> MeasureRoof(int threads) {
  return OrResourceExhausted(threads, [&] { return Measure(threads); });
}

Result<QuickRoof> MeasureRoofQuickly(int threads) {
  return OrResourceExhausted(
      threads, [&]() -> Result<QuickRoof> { return MeasureQuickly(std::max(threads, 1)); });
}

}  // namespace thalweg
