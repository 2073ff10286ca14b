// SPDX-License-Identifier: Apache-2.0
// `thalweg top`: the tasks of a cluster, live.
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cluster_text.h"
#include "cluster_watch.h"
#include "commands.h"
#include "top_table.h"

namespace cli {
namespace {

using Seconds = std::chrono::duration<double>;

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// SIGINT, SIGTERM and SIGHUP come here, and to none of the library's threads.
class Endings {
 public:
  Endings() {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    fd_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0) throw WorkError("the system has no descriptor for signals");
  }
  Endings(const Endings&) = delete;
  Endings& operator=(const Endings&) = delete;
  ~Endings() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// The terminal while the table is on it, as it was before afterwards.
class Screen {
 public:
  Screen() {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios keys = before_;
      keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  bool has_keys() const { return has_keys_; }

  static void Show(const std::string& text) {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::string cut =
        CutToScreen(text, known ? size.ws_col : 80, known && size.ws_row > 0 ? size.ws_row : 24);
    std::fputs(("\x1b[H\x1b[2J" + cut).c_str(), stdout);
  }

 private:
  bool has_keys_ = false;
  termios before_{};
};

std::vector<TaskAnswer> Ask(const std::vector<std::string>& targets, double timeout) {
  constexpr double kMillis = 1000;
  const std::vector<const char*> pointers = Pointers(targets);
  const Json list = GetJson([&](TwStatus* status) {
    return tw_debug_metrics(pointers.data(), static_cast<int32_t>(pointers.size()),
                            static_cast<int64_t>(timeout * kMillis), status);
  });
  std::vector<TaskAnswer> answers;
  for (const Json& said : list) {
    TaskAnswer& answer = answers.emplace_back();
    if (!said.contains("told")) {
      answer.error = said.at("error").get<std::string>();
      continue;
    }
    try {
      answer.told = Json::parse(said.at("told").get<std::string>());
    } catch (const Json::exception& e) {
      answer = {.told = nullptr, .error = std::string("its answer is no JSON: ") + e.what()};
    }
  }
  return answers;
}

// All of them, also those that answers name.
void AskAll(double timeout, ClusterWatch* watch) {
  watch->Begin();
  for (auto targets = watch->Unasked(); !targets.empty(); targets = watch->Unasked()) {
    const std::vector<TaskAnswer> answers = Ask(targets, timeout);
    for (size_t i = 0; i < targets.size(); ++i) watch->Take(targets[i], answers.at(i), Now());
  }
}

// Waits until then; true: it is to end.
bool WaitUntil(double end, const Endings& endings, bool has_keys) {
  for (;;) {
    const double left = end - Now();
    std::array<pollfd, 2> polled = {
        {{endings.fd(), POLLIN, 0}, {has_keys ? STDIN_FILENO : -1, POLLIN, 0}}};
    constexpr double kMillis = 1000;
    const int n =
        poll(polled.data(), polled.size(), left <= 0 ? 0 : static_cast<int>(left * kMillis) + 1);
    if (polled[0].revents != 0) return true;
    if (n > 0 && polled[1].revents != 0) {
      constexpr char kControlC = 3;
      char key = 0;
      const ssize_t got = read(STDIN_FILENO, &key, 1);
      if (got <= 0 || key == 'q' || key == 'Q' || key == kControlC) return true;
    }
    if (left <= 0) return false;
  }
}

std::vector<std::string> TargetsOf(const std::vector<std::string>& given) {
  std::vector<std::string> targets;
  const bool has_files = std::getenv("THALWEG_TLS_CERT") != nullptr;
  for (const std::string& text : given) {
    if (text.find("://") != std::string::npos) {
      targets.push_back(text);
      continue;
    }
    try {
      for (const auto& [job, tasks] : JobsOf(ReadClusterText(text))) {
        for (const auto& [number, address] : tasks)
          targets.push_back((has_files ? "grpcs://" : "grpc://") + address);
      }
    } catch (const nlohmann::json::exception& e) {
      throw WorkError("expected grpc://HOST:PORT or a cluster in JSON, got '" + text +
                      "': " + e.what());
    } catch (const std::runtime_error& e) {
      throw WorkError("expected grpc://HOST:PORT or a cluster: " + std::string(e.what()));
    }
  }
  return targets;
}

void Print(const TopArgs& args, const ClusterWatch& watch, const Screen* screen) {
  const Json report = watch.Report(Now());
  if (args.json) {
    PrintJson(report);
  } else if (screen != nullptr) {
    Screen::Show(TopTable(report));
  } else {
    std::fputs((TopTable(report) + (args.once ? "" : "\n")).c_str(), stdout);
  }
  if (std::fflush(stdout) != 0) throw WorkError("standard output cannot be written");
}

}  // namespace

void Top(const TopArgs& args) {
  const Endings endings;
  ClusterWatch watch(TargetsOf(args.targets));
  std::optional<Screen> screen;
  if (!args.once && !args.json && isatty(STDOUT_FILENO) != 0) screen.emplace();
  const bool has_keys = screen.has_value() && screen->has_keys();
  for (bool first = true;; first = false) {
    const double begin = Now();
    AskAll(args.timeout, &watch);
    // What only rates tell comes with the second round.
    if (!first || screen.has_value()) Print(args, watch, screen.has_value() ? &*screen : nullptr);
    if (args.once && !first) break;
    if (WaitUntil(begin + args.interval, endings, has_keys)) break;
  }
  screen.reset();
  if (args.once && !watch.any_answers()) throw WorkError("no task has answered");
}

}  // namespace cli
