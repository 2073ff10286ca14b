// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/user_library.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <vector>

#include "thalweg/api/kernel_api.h"
#include "thalweg/base/first_error.h"
#include "thalweg/graph/op_def_proto.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/host_call.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"

// What one operation of a user is, kept in its OpEntry::user_data. Operations are never taken back,
// so it lives on.
struct UserOp {
  TwShapeFunction shape = nullptr;
  std::map<std::string, TwKernelFunction> kernels;  // by device type
};

struct TwRegistrar {
  thalweg::Environment* environment;
  thalweg::SourceLine library;
  thalweg::Status status;
};

struct TwKernelCall {
  thalweg::Context* context;
  const thalweg::Node* node;
  std::vector<std::unique_ptr<thalweg::Shape>> shapes;  // what views point at
  thalweg::Status status;
};

struct TwShapeCall {
  thalweg::ShapeContext* context;
  thalweg::Status status;
};

namespace thalweg::api {
namespace {

const TwKernelApi& Api();

template <class Call>
int Fail(Call* call, Status status) {
  KeepFirstError(std::move(status), &call->status);
  return 0;
}

Status UserShape(ShapeContext& c) {
  const auto* op = static_cast<const UserOp*>(c.node().op().user_data);
  if (op->shape == nullptr) return OkStatus();
  TwShapeCall call{&c, OkStatus()};
  if (op->shape(&call, &Api()) != 0) return OkStatus();
  return call.status.ok() ? Internal("the shape function failed without a reason") : call.status;
}

class UserKernel : public Kernel {
 public:
  UserKernel(const Node& node, TwKernelFunction function) : node_(node), function_(function) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const auto* op = static_cast<const UserOp*>(c.node().op().user_data);
    return std::unique_ptr<Kernel>(
        std::make_unique<UserKernel>(c.node(), op->kernels.at(c.device().type())));
  }
  Status Compute(Context& ctx) override {
    TwKernelCall call{&ctx, &node_, {}, OkStatus()};
    const HostCall host_call;
    if (function_(&call, &Api()) != 0) return OkStatus();
    return call.status.ok() ? Internal("the kernel failed without a reason") : call.status;
  }

 private:
  const Node& node_;
  const TwKernelFunction function_;
};

// ---- registration ----

int DefineOp(TwRegistrar* registrar, const char* op_def, TwShapeFunction shape) {
  Result<OwnedMessage> message = ParseText(pb::OpDef::Descriptor(), op_def);
  if (!message.ok())
    return Fail(registrar, message.status().WithContext("the schema of an operation"));
  Result<OpDef> def = OpDefFromProto(**message);
  if (!def.ok()) return Fail(registrar, def.status());
  auto op = std::make_unique<UserOp>();
  op->shape = shape;
  const Status defined = registrar->environment->ops().Define(*std::move(def), UserShape, nullptr,
                                                              op.get(), registrar->library);
  if (!defined.ok()) return Fail(registrar, defined);
  static_cast<void>(op.release());  // belongs to the entry now
  return 1;
}

int AddKernel(TwRegistrar* registrar, const char* op, const char* device_type,
              TwKernelFunction kernel) {
  const Result<const OpEntry*> entry = registrar->environment->ops().Find(op);
  if (!entry.ok()) return Fail(registrar, entry.status());
  auto* user_op = static_cast<UserOp*>((*entry)->user_data);
  if (user_op == nullptr) {
    return Fail(registrar, InvalidArgument(
                               "kernels can be added to operations of your own only, not to ", op));
  }
  user_op->kernels.try_emplace(device_type, kernel);  // the first one stands
  KernelEntry added;
  added.op = op;
  added.device_type = device_type;
  added.factory = UserKernel::Create;
  added.registered_at = registrar->library;
  const Status status = registrar->environment->kernels().AddUserKernel(std::move(added));
  return status.ok() ? 1 : Fail(registrar, status);
}

// ---- in a kernel ----

int32_t NumInputs(const TwKernelCall* call) { return call->context->num_inputs(); }
int32_t NumOutputs(const TwKernelCall* call) { return call->context->num_outputs(); }

void View(TwKernelCall* call, const Tensor& tensor, TwTensorView* view) {
  call->shapes.push_back(std::make_unique<Shape>(tensor.shape()));
  *view = {static_cast<int32_t>(tensor.dtype()), call->shapes.back()->rank(),
           call->shapes.back()->dims().data(), tensor.num_elements(),
           const_cast<void*>(tensor.raw_data())};
}

int Input(TwKernelCall* call, int32_t i, TwTensorView* view) {
  if (i < 0 || i >= call->context->num_inputs())
    return Fail(call, InvalidArgument("there is no input ", i));
  const Tensor& tensor = call->context->input(i);
  if (!IsPlain(tensor.dtype())) {
    return Fail(call, Unimplemented("input ", i, " has type ", tensor.dtype(),
                                    ", which user kernels cannot read"));
  }
  View(call, tensor, view);
  return 1;
}

int AllocateOutput(TwKernelCall* call, int32_t i, int32_t dtype, const int64_t* dims, int32_t rank,
                   TwTensorView* view) {
  if (i < 0 || i >= call->context->num_outputs())
    return Fail(call, InvalidArgument("there is no output ", i));
  if (!IsValidDType(dtype) || static_cast<DType>(dtype) != call->node->output_type(i)) {
    return Fail(call, InvalidArgument("output ", i, " has type ", call->node->output_type(i),
                                      ", got number ", dtype));
  }
  const Result<Shape> shape = Shape::Make({dims, static_cast<size_t>(rank < 0 ? 0 : rank)});
  if (!shape.ok()) return Fail(call, shape.status());
  Result<Tensor*> output = call->context->AllocateOutput(i, static_cast<DType>(dtype), *shape);
  if (!output.ok()) return Fail(call, output.status());
  View(call, **output, view);
  return 1;
}

template <class T, class Out>
int Attr(TwKernelCall* call, const char* name, Out* value) {
  const Result<T> attr = call->node->Attr<T>(name);
  if (!attr.ok()) return Fail(call, attr.status());
  *value = static_cast<Out>(*attr);
  return 1;
}

int FailKernel(TwKernelCall* call, int32_t code, const char* message) {
  const bool known = code > 0 && code <= static_cast<int32_t>(Code::kUnauthenticated);
  return Fail(call, Status(known ? static_cast<Code>(code) : Code::kUnknown, message));
}

// ---- in a shape function ----

int32_t InputRank(const TwShapeCall* call, int32_t i) {
  return i >= 0 && i < call->context->num_inputs() ? call->context->input(i).rank() : -1;
}
int64_t InputDim(const TwShapeCall* call, int32_t i, int32_t dim) {
  return dim >= 0 && dim < InputRank(call, i) ? call->context->input(i).dim(dim) : -1;
}
int SetOutputShape(TwShapeCall* call, int32_t i, const int64_t* dims, int32_t rank) {
  if (i < 0 || i >= call->context->num_outputs())
    return Fail(call, InvalidArgument("there is no output ", i));
  if (rank < 0) return 1;
  Result<PartialShape> shape = PartialShape::Make({dims, static_cast<size_t>(rank)});
  if (!shape.ok()) return Fail(call, shape.status());
  call->context->set_output(i, *std::move(shape));
  return 1;
}
int FailShape(TwShapeCall* call, const char* message) {
  return Fail(call, InvalidArgument(message));
}

const TwKernelApi& Api() {
  static constexpr TwKernelApi api = {
      TW_KERNEL_API_VERSION,
      DefineOp,
      AddKernel,
      NumInputs,
      NumOutputs,
      Input,
      AllocateOutput,
      Attr<int64_t, int64_t>,
      Attr<float, float>,
      Attr<bool, int32_t>,
      Attr<DType, int32_t>,
      FailKernel,
      InputRank,
      InputDim,
      SetOutputShape,
      FailShape,
  };
  return api;
}

}  // namespace

Status LoadUserLibrary(Environment& environment, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotFound("cannot load '", path, "': ", dlerror());
  using Register = int (*)(const TwKernelApi*, TwRegistrar*);
  const auto entry = reinterpret_cast<Register>(dlsym(library, "tw_register"));
  if (entry == nullptr) {
    dlclose(library);
    return InvalidArgument("'", path,
                           "' exports no function tw_register (see thalweg/kernel_api.h)");
  }
  Dl_info info;
  const bool has_info = dladdr(reinterpret_cast<const void*>(entry), &info) != 0;
  // The loader's text of the path: a library stays, and so do messages about it.
  const SourceLine where{has_info ? info.dli_fname : "a user's library"};
  TwRegistrar registrar{&environment, where, OkStatus()};
  if (entry(&Api(), &registrar) != 0) return OkStatus();
  if (registrar.status.ok()) return Internal("'", path, "': tw_register failed without a reason");
  return registrar.status.WithContext(path);
}

}  // namespace thalweg::api
