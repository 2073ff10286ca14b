// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_context.h"

#include <dlfcn.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/mutex.h"

namespace thalweg {

UcxLibrary ucx;

namespace {

// Has the value while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name); before != nullptr) before_ = before;
    setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_.has_value()) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

ucs_log_func_rc_t SayNothing(const char*, unsigned, const char*, ucs_log_level_t,
                             const ucs_log_component_config_t*, const char*, va_list) {
  return UCS_LOG_FUNC_RC_STOP;
}

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

Status Load() {
  const Variable errors("UCX_HANDLE_ERRORS", "none");
  const Variable hooks("UCX_MEM_MMAP_HOOK_MODE", "none");
  const Variable events("UCX_MEM_EVENTS", "n");
  const Variable malloc_hooks("UCX_MEM_MALLOC_HOOKS", "n");
  const Variable malloc_calls("UCX_MEM_MALLOC_RELOC", "n");
  const Variable level("UCX_LOG_LEVEL", "fatal");
  const Variable unused("UCX_WARN_UNUSED_ENV_VARS", "n");
  void* const library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Unavailable("UCX cannot be loaded: ", dlerror());
#define THALWEG_UCX_FIND(name) \
  if (!Find(library, #name, &ucx.name)) return Unavailable("UCX has no " #name);
  THALWEG_UCX_FUNCTIONS(THALWEG_UCX_FIND)
#undef THALWEG_UCX_FIND
  decltype(&ucs_log_push_handler) push_handler = nullptr;
  if (Find(library, "ucs_log_push_handler", &push_handler)) push_handler(SayNothing);
  // It takes SIGHUP all the same.
  decltype(&ucs_debug_disable_signal) disable = nullptr;
  const auto* options = static_cast<const ucs_global_opts_t*>(dlsym(library, "ucs_global_opts"));
  if (options != nullptr && options->debug_signo != 0 &&
      Find(library, "ucs_debug_disable_signal", &disable)) {
    disable(static_cast<int>(options->debug_signo));
  }
  return OkStatus();
}

Result<ucp_context_h> MakeContext(bool loopback) {
  ucp_config_t* read = nullptr;
  ucs_status_t status = ucx.ucp_config_read(nullptr, nullptr, &read);
  if (status != UCS_OK) return UcxError("its configuration", status);
  const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> config(read, ucx.ucp_config_release);
  if (loopback) {
    status = ucx.ucp_config_modify(config.get(), "NET_DEVICES", "lo");
    if (status != UCS_OK) return UcxError("the loopback device alone", status);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.mt_workers_shared = 1;
  ucp_context_h context = nullptr;
  status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config.get(), &context);
  if (status != UCS_OK) return UcxError("a context", status);
  return context;
}

}  // namespace

Status UcxError(std::string_view what, ucs_status_t status) {
  return Unavailable("UCX: ", what, ": ", ucx.ucs_status_string(status));
}

Result<ucp_context_h> UcxContext(bool loopback) {
  static Mutex* const mutex = new Mutex;
  static std::array<ucp_context_h, 2> contexts{};
  MutexLock lock(*mutex);
  static const Status* const loaded = new Status(Load());
  RETURN_IF_ERROR(*loaded);
  ucp_context_h& context = contexts[loopback ? 1 : 0];
  if (context == nullptr) {
    ASSIGN_OR_RETURN(context, MakeContext(loopback));
  }
  return context;
}

}  // namespace thalweg
