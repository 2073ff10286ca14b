// SPDX-License-Identifier: Apache-2.0
// Times a channel between two processes of this host; `./dev bench 'channel_*'` runs it.
//   build/release/bin/channel_benchmark channel_100M --variant shm --seconds 2
// NAME: channel_4B, channel_4K, channel_1M, channel_100M, channel_1G. Variants: shm (the tensor
// lies in the arena), shm_copy (it does not), shm_full (and the arena has no room for it), unix,
// tcp, ucx (where it is built with it), and raw_unix, raw_tcp: blocking sockets without a channel.
// One float tensor goes over, all
// of it is read there, four bytes come back.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "thalweg/cluster/transport/shm/shm_channel.h"
#include "thalweg/cluster/transport/socket/socket_channel.h"
#include "thalweg/cluster/transport/ucx/ucx_listener.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;
using Fds = std::pair<UniqueFd, UniqueFd>;

Fds Sockets(bool tcp) {
  int fds[2] = {-1, -1};
  if (!tcp) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
  }
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener.get(), generic, size) == 0 && listen(listener.get(), 1) == 0);
  CHECK(getsockname(listener.get(), generic, &size) == 0);
  fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(fds[0], generic, size) == 0);
  fds[1] = accept(listener.get(), nullptr, nullptr);
  const int on = 1;
  for (int fd : fds) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

uint64_t ReadAll(const void* data, size_t bytes) {
  uint64_t sum = 0;
  const auto* words = static_cast<const uint64_t*>(data);
  for (size_t i = 0; i < bytes / 8; ++i) sum += words[i];
  return sum;
}

// Keeps the pages of the last tensor, as an allocator would.
class Sink : public ChannelSink {
 public:
  void OnControl(std::string_view) override {}
  Result<Tensor> OnHead(const TensorHead& head) override {
    if (spare_.empty() || spare_.shape() != head.shape) {
      ASSIGN_OR_RETURN(spare_, Tensor::AllocateHost(head.dtype, head.shape));
    }
    return spare_;
  }
  void OnTensor(const TensorHead&, Tensor tensor) override {
    sum += ReadAll(tensor.raw_data(), tensor.bytes());
    ++arrived;
  }
  void OnClosed(const Status&) override { closed = true; }
  uint64_t sum = 0;
  int arrived = 0;
  bool closed = false;

 private:
  Tensor spare_;
};

// One side, of any variant.
class Side {
 public:
  virtual ~Side() = default;
  virtual void Send(const Tensor& tensor) = 0;
  virtual bool Receive() = 0;  // false at the end
  virtual Tensor Make(int64_t floats) {
    return *Tensor::AllocateHost(DType::kFloat, Shape{floats});
  }
};

class ChannelSide : public Side {
 public:
  ChannelSide(std::unique_ptr<Channel> channel, std::shared_ptr<ShmArena> arena)
      : channel_(std::move(channel)), arena_(std::move(arena)) {}
  void Send(const Tensor& tensor) override {
    channel_->Push({.dtype = tensor.dtype(), .shape = tensor.shape()}, tensor);
  }
  bool Receive() override {
    const int before = sink_.arrived;
    for (uint32_t polls = 1; sink_.arrived == before && !sink_.closed; ++polls) {
      channel_->Poll(sink_, 16);
      if (polls % 64 == 0) sched_yield();
    }
    return !sink_.closed;
  }
  Tensor Make(int64_t floats) override {
    if (arena_ == nullptr) return Side::Make(floats);
    return *Tensor::Allocate(*arena_, DType::kFloat, Shape{floats});
  }

 private:
  std::unique_ptr<Channel> channel_;
  std::shared_ptr<ShmArena> arena_;
  Sink sink_;
};

class RawSide : public Side {
 public:
  RawSide(UniqueFd fd, size_t incoming) : fd_(std::move(fd)), buffer_(incoming) {}
  void Send(const Tensor& tensor) override {
    const auto* data = static_cast<const char*>(tensor.raw_data());
    for (size_t sent = 0; sent < tensor.bytes();) {
      const size_t piece = std::min(tensor.bytes() - sent, size_t{1} << 20);
      const ssize_t n = send(fd_.get(), data + sent, piece, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
  }
  bool Receive() override {
    for (size_t got = 0; got < buffer_.size();) {
      const size_t piece = std::min(buffer_.size() - got, size_t{1} << 20);
      const ssize_t n = recv(fd_.get(), buffer_.data() + got, piece, 0);
      if (n <= 0) return false;
      got += static_cast<size_t>(n);
    }
    sum_ = sum_ + ReadAll(buffer_.data(), buffer_.size());
    return true;
  }

 private:
  UniqueFd fd_;
  std::vector<char> buffer_;
  volatile uint64_t sum_ = 0;
};

// `talk` carries the offer, and from the other side that it has come.
std::unique_ptr<Channel> UcxSide(const std::shared_ptr<IoThread>& io, const UniqueFd& talk,
                                 bool initiator) {
  constexpr const char* kHost = "127.0.0.1";
  std::array<char, 4096> bytes;
  if (initiator) {
    UcxListener listener = *UcxListener::Open(kHost);
    std::memcpy(bytes.data(), listener.offer().secret.data(), sizeof(UcxSecret));
    const size_t n = listener.offer().address.copy(bytes.data() + sizeof(UcxSecret),
                                                   bytes.size() - sizeof(UcxSecret));
    CHECK(write(talk.get(), bytes.data(), sizeof(UcxSecret) + n) > 0);
    listener.AttendUntil(talk);
    return *listener.Take(io);
  }
  const ssize_t n = read(talk.get(), bytes.data(), bytes.size());
  CHECK(n > static_cast<ssize_t>(sizeof(UcxSecret)));
  UcxOffer offer;
  std::memcpy(offer.secret.data(), bytes.data(), sizeof(UcxSecret));
  offer.address.assign(bytes.data() + sizeof(UcxSecret), bytes.data() + n);
  auto channel = *ConnectByUcx(offer, kHost, io, std::chrono::seconds(10));
  CHECK(write(talk.get(), "c", 1) == 1);
  return channel;
}

std::unique_ptr<Side> MakeSide(const std::string& variant, UniqueFd first, UniqueFd second,
                               bool initiator, size_t incoming) {
  if (variant.starts_with("raw")) return std::make_unique<RawSide>(std::move(first), incoming);
  const std::shared_ptr<IoThread> io = *IoThread::Start();
  if (variant == "ucx") {
    return std::make_unique<ChannelSide>(UcxSide(io, first, initiator), nullptr);
  }
  if (!variant.starts_with("shm")) {
    return std::make_unique<ChannelSide>(
        *MakeSocketChannel(io, std::move(first), std::move(second)), nullptr);
  }
  const std::shared_ptr<ShmArena> arena = ShmArena::Make(variant == "shm_full" ? 1 : 0);
  auto channel = initiator ? OpenShmChannel(io, arena, std::move(first))
                           : AcceptShmChannel(io, arena, std::move(first));
  return std::make_unique<ChannelSide>(*std::move(channel), variant == "shm" ? arena : nullptr);
}

// Empty: the other side has gone.
std::vector<double> Measure(Side& side, const Tensor& tensor, double seconds) {
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = -3; i < 3 || Clock::now() < end; ++i) {
    const auto begin = Clock::now();
    side.Send(tensor);
    if (!side.Receive()) return {};
    if (i >= 0) times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

int Run(const std::string& name, const std::string& variant, double seconds) {
  const std::map<std::string, size_t> sizes = {{"channel_4B", 4},
                                               {"channel_4K", 4096},
                                               {"channel_1M", 1'000'000},
                                               {"channel_100M", 100'000'000},
                                               {"channel_1G", 1'000'000'000}};
  std::vector<std::string> variants = {"shm", "shm_copy", "shm_full", "unix",
                                       "tcp", "raw_unix", "raw_tcp"};
  if (HasUcx().ok()) variants.emplace_back("ucx");
  const auto size = sizes.find(name);
  if (size == sizes.end() ||
      std::find(variants.begin(), variants.end(), variant) == variants.end()) {
    std::fprintf(stderr, "no row %s, variant %s\n", name.c_str(), variant.c_str());
    return 2;
  }
  const size_t bytes = size->second;
  const bool tcp = variant.ends_with("tcp");
  Fds first = Sockets(tcp), second = Sockets(tcp);
  const pid_t child = fork();
  if (child == 0) {
    first.first = UniqueFd();
    second.first = UniqueFd();
    auto side = MakeSide(variant, std::move(first.second), std::move(second.second), false, bytes);
    while (side->Receive()) side->Send(Tensor::Vector<float>({1}));
    std::_Exit(0);
  }
  first.second = UniqueFd();
  second.second = UniqueFd();
  auto side = MakeSide(variant, std::move(first.first), std::move(second.first), true, 4);
  Tensor tensor = side->Make(static_cast<int64_t>(bytes / 4));
  std::memset(tensor.mutable_raw_data(), 1, tensor.bytes());
  const std::vector<double> times = Measure(*side, tensor, seconds);
  side.reset();
  waitpid(child, nullptr, 0);
  if (times.empty()) {
    std::fprintf(stderr, "%s, variant %s: the other process has gone\n", name.c_str(),
                 variant.c_str());
    return 1;
  }
  const auto at = [&](size_t tenths) { return times[(times.size() - 1) * tenths / 10]; };
  std::printf(
      "{\"name\": \"%s\", \"variant\": \"%s\", \"median_s\": %.9f, \"p10_s\": %.9f, "
      "\"p90_s\": %.9f, \"gb_per_s\": %.2f}\n",
      name.c_str(), variant.c_str(), at(5), at(1), at(9), static_cast<double>(bytes) / at(5) / 1e9);
  return 0;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  std::string variant = "shm";
  double seconds = 2;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--variant") variant = argv[i + 1];
    if (std::string(argv[i]) == "--seconds") seconds = std::atof(argv[i + 1]);
  }
  return thalweg::Run(name, variant, seconds);
}
