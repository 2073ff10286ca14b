// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "thalweg/base/file_system.h"
#include "thalweg/compute/summary/number_counts.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_reader.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Directories into which TensorFlow's debugger wants a tensor written, one file each time: an Event
// at DIRECTORY/_tfdbg_device_DEVICE/NODE_SLOT_OPERATION_MICROSECONDS.
class Dump {
 public:
  static Result<Dump> Of(const KernelConstruction& c) {
    Dump dump;
    dump.op_ = c.node().op_name();
    ASSIGN_OR_RETURN(dump.device_, c.Attr<std::string>("device_name"));
    ASSIGN_OR_RETURN(const std::string tensor, c.Attr<std::string>("tensor_name"));
    ASSIGN_OR_RETURN(const std::vector<std::string> urls,
                     c.Attr<std::vector<std::string>>("debug_urls"));
    const size_t colon = tensor.rfind(':');
    dump.node_ = tensor.substr(0, colon);
    if (colon != std::string::npos) dump.slot_ = tensor.substr(colon + 1);
    const bool is_number =
        !dump.slot_.empty() && dump.slot_.find_first_not_of("0123456789") == std::string::npos;
    if (dump.node_.empty() || !is_number ||
        ("/" + dump.node_ + "/").find("/../") != std::string::npos) {
      return InvalidArgument("Failed to parse tensor name: \"", tensor, "\"");
    }
    for (const std::string& url : urls) {
      constexpr std::string_view kFile = "file://";
      if (url.starts_with("grpc://")) {
        return Unimplemented("there is no debug server to send to: ", url, "; use file://");
      }
      if (!url.starts_with(kFile)) return Unavailable("Invalid debug target URL: ", url);
      dump.directories_.push_back(url.substr(kFile.size()));
    }
    return dump;
  }

  Status Write(const Tensor& tensor) const {
    if (directories_.empty()) return OkStatus();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
    ASSIGN_OR_RETURN(const std::string event, Event(tensor, static_cast<double>(micros)));
    PosixFileSystem fs;
    for (const std::string& directory : directories_) {
      const std::string path = StrCat(directory, "/_tfdbg_device_", DeviceFolder(), "/", node_, "_",
                                      slot_, "_", op_, "_", micros);
      RETURN_IF_ERROR(fs.MakeDirectories(ParentDirectory(path)));
      RETURN_IF_ERROR(WriteFileAtomically(fs, path, event));
    }
    return OkStatus();
  }

 private:
  std::string DeviceFolder() const {
    std::string folder;
    for (const char c : device_) folder += c == '/' ? ',' : c == ':' ? '_' : c;
    return folder;
  }

  // Numbers as bytes, a single one too: TensorFlow's debugger takes others for no value.
  static Status ValueToProto(const Tensor& tensor, Message* proto) {
    namespace tp = pb::TensorProto;
    if (!IsPlain(tensor.dtype()) || tensor.empty()) return TensorToProto(tensor, proto);
    proto->SetInt(tp::kDtype, static_cast<int64_t>(tensor.dtype()));
    ShapeToProto(tensor.shape(), proto->Mutable(tp::kTensorShape));
    proto->SetString(tp::kTensorContent,
                     std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.bytes()));
    return OkStatus();
  }

  // wall_time (1) and summary (5) of an Event.
  Result<std::string> Event(const Tensor& tensor, double time) const {
    namespace value = pb::Summary::Value;
    OwnedMessage summary(pb::Summary::Descriptor());
    Message& one = *summary->Add(pb::Summary::kValue);
    one.SetString(value::kTag, node_);
    one.SetString(value::kNodeName, StrCat(node_, ":", slot_, ":", op_));
    RETURN_IF_ERROR(ValueToProto(tensor, one.Mutable(value::kTensor)));
    Message* const plugin =
        one.Mutable(value::kMetadata)->Mutable(pb::SummaryMetadata::kPluginData);
    plugin->SetString(pb::SummaryMetadata::PluginData::kPluginName, "debugger");
    plugin->SetString(pb::SummaryMetadata::PluginData::kContent,
                      StrCat("{\"device\":\"", device_, "\",\"outputSlot\":", slot_,
                             ",\"numChunks\":1,\"chunkIndex\":0}"));
    ASSIGN_OR_RETURN(const std::string bytes, Serialize(*summary));
    std::string event(1, '\x09');
    event.append(reinterpret_cast<const char*>(&time), sizeof(time));
    event += '\x2a';
    AppendVarint(event, bytes.size());
    return event + bytes;
  }

  std::string op_, device_, node_, slot_ = "0";
  std::vector<std::string> directories_;
};

class DebugIdentityCpu : public Kernel {
 public:
  explicit DebugIdentityCpu(Dump dump) : dump_(std::move(dump)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Dump dump, Dump::Of(c));
    if (c.node().FindAttr("io_index") != nullptr) {
      RETURN_IF_ERROR(Int32Attr(c, "io_index").status());
    }
    return std::unique_ptr<Kernel>(std::make_unique<DebugIdentityCpu>(std::move(dump)));
  }
  Status Compute(Context& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return dump_.Write(ctx.input(0));
  }

 private:
  const Dump dump_;
};

class DebugIdentityV2Cpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::vector<std::string> urls,
                     c.Attr<std::vector<std::string>>("debug_urls"));
    if (!urls.empty()) {
      return Unimplemented(
          "the event files of TensorFlow's second debugger are written by it "
          "alone; debug_urls must be empty here, got ",
          urls.front());
    }
    for (const char* name : {"output_slot", "tensor_debug_mode"}) {
      if (c.node().FindAttr(name) != nullptr) RETURN_IF_ERROR(Int32Attr(c, name).status());
    }
    return std::unique_ptr<Kernel>(std::make_unique<DebugIdentityV2Cpu>());
  }
  Status Compute(Context& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }
};

compute::NumberCounts CountsOf(const Tensor& x, double lower = -kInfinity,
                               double upper = kInfinity) {
  return compute::CountNumbers(x.dtype(), x.raw_data(), x.num_elements(), lower, upper);
}

class DebugNanCountCpu : public Kernel {
 public:
  explicit DebugNanCountCpu(Dump dump) : dump_(std::move(dump)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Dump dump, Dump::Of(c));
    return std::unique_ptr<Kernel>(std::make_unique<DebugNanCountCpu>(std::move(dump)));
  }
  Status Compute(Context& ctx) override {
    Tensor count = Tensor::Vector<int64_t>({CountsOf(ctx.input(0)).nan});
    ctx.set_output(0, count);
    return dump_.Write(count);
  }

 private:
  const Dump dump_;
};

class DebugNumericSummaryCpu : public Kernel {
 public:
  DebugNumericSummaryCpu(Dump dump, double lower, double upper, bool mute)
      : dump_(std::move(dump)), lower_(lower), upper_(upper), mute_if_healthy_(mute) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Dump dump, Dump::Of(c));
    ASSIGN_OR_RETURN(const float lower, c.Attr<float>("lower_bound"));
    ASSIGN_OR_RETURN(const float upper, c.Attr<float>("upper_bound"));
    ASSIGN_OR_RETURN(const bool mute, c.Attr<bool>("mute_if_healthy"));
    return std::unique_ptr<Kernel>(
        std::make_unique<DebugNumericSummaryCpu>(std::move(dump), lower, upper, mute));
  }
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const compute::NumberCounts c = CountsOf(x, lower_, upper_);
    const auto number = [](int64_t n) { return static_cast<double>(n); };
    std::vector<double> values = {1,
                                  number(c.size),
                                  number(c.nan),
                                  number(c.below),
                                  number(c.negative),
                                  number(c.zero),
                                  number(c.positive),
                                  number(c.above),
                                  c.min,
                                  c.max,
                                  c.mean,
                                  c.variance,
                                  number(static_cast<int64_t>(x.dtype())),
                                  number(x.rank())};
    for (int d = 0; d < x.rank(); ++d) values.push_back(number(x.dim(d)));
    const Tensor summary = Tensor::Of<double>(values, Shape{static_cast<int64_t>(values.size())});
    ctx.set_output(0, summary);
    if (mute_if_healthy_ && c.nan + c.below + c.above == 0) return OkStatus();
    return dump_.Write(summary);
  }

 private:
  const Dump dump_;
  const double lower_, upper_;
  const bool mute_if_healthy_;
};

// What a mode of DebugNumericSummaryV2 gives of a tensor.
class DebugNumericSummaryV2Cpu : public Kernel {
 public:
  static constexpr int64_t kCurtHealth = 2, kConciseHealth = 3, kFullHealth = 4, kShape = 5,
                           kReduceInfNanThreeSlots = 8;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<DebugNumericSummaryV2Cpu>();
    kernel->dtype_ = c.output_type(0);
    ASSIGN_OR_RETURN(kernel->mode_, Int32Attr(c, "tensor_debug_mode"));
    ASSIGN_OR_RETURN(kernel->id_, c.Attr<int64_t>("tensor_id"));
    const int64_t mode = kernel->mode_;
    const int bits = kernel->dtype_ == DType::kFloat ? 24 : 53;
    if (kernel->id_ > int64_t{1} << bits) {
      return InvalidArgument("DebugNumericSummaryV2Op requires tensor_id to be less than or equal ",
                             "to (2^", bits, "). Given tensor_id:", kernel->id_);
    }
    if ((mode < kCurtHealth || mode > kShape) && mode != kReduceInfNanThreeSlots) {
      return Unimplemented("Unimplemented tensor debug mode: ", mode);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    const std::vector<double> values = Values(ctx.input(0));
    const Shape shape{static_cast<int64_t>(values.size())};
    if (dtype_ == DType::kDouble) {
      ctx.set_output(0, Tensor::Of<double>(values, shape));
    } else {
      ctx.set_output(0, Tensor::Of<float>(std::vector<float>(values.begin(), values.end()), shape));
    }
    return OkStatus();
  }

 private:
  std::vector<double> Values(const Tensor& x) const {
    const auto number = [](int64_t n) { return static_cast<double>(n); };
    const double id = number(id_), type = number(static_cast<int64_t>(x.dtype()));
    if (mode_ == kShape) {
      std::vector<double> values = {id, type, number(x.rank()), number(x.num_elements())};
      for (int d = std::max(x.rank() - 6, 0); d < x.rank(); ++d) values.push_back(number(x.dim(d)));
      values.resize(10);
      return values;
    }
    const compute::NumberCounts c = CountsOf(x);
    const double size = number(c.size), below = number(c.below), above = number(c.above),
                 nan = number(c.nan);
    switch (mode_) {
      case kCurtHealth:
        return {id, c.below + c.above + c.nan > 0 ? 1.0 : 0.0};
      case kConciseHealth:
        return {id, size, below, above, nan};
      case kFullHealth:
        return {id,
                -1,
                type,
                number(x.rank()),
                size,
                below,
                above,
                nan,
                number(c.negative),
                number(c.zero),
                number(c.positive)};
      default:
        return {c.below > 0 ? -kInfinity : 0, c.above > 0 ? kInfinity : 0,
                c.nan > 0 ? std::numeric_limits<double>::quiet_NaN() : 0};
    }
  }

  DType dtype_ = DType::kFloat;
  int64_t mode_ = 0, id_ = 0;
};

Status Pass(Context& ctx) {
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(debug_watch, cpu) {
  registry.Add<DebugIdentityCpu>("DebugIdentity", kCpu);
  registry.Add<DebugIdentityV2Cpu>("DebugIdentityV2", kCpu).Cost(KernelCost::kCheap);
  registry.Add<DebugIdentityCpu>("DebugIdentityV3", kCpu);
  registry.AddFunction<Pass>("DebugGradientIdentity", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Pass>("DebugGradientRefIdentity", kCpu).Cost(KernelCost::kCheap);
  const auto add = [&](DType dtype, bool in_first) {
    registry.Add<DebugNanCountCpu>("DebugNanCount", kCpu, {{"T", dtype}});
    if (in_first) {
      registry.Add<DebugNumericSummaryCpu>("DebugNumericSummary", kCpu, {{"T", dtype}});
    }
    for (const DType out : {DType::kFloat, DType::kDouble}) {
      registry.Add<DebugNumericSummaryV2Cpu>("DebugNumericSummaryV2", kCpu,
                                             {{"T", dtype}, {"output_dtype", out}});
    }
  };
  ForEachType<RealTypes>([&]<class T>() {
    const DType dtype = kDTypeOf<T>;
    add(dtype, dtype != DType::kHalf && dtype != DType::kBfloat16);
  });
  registry.Add<DebugNumericSummaryCpu>("DebugNumericSummary", kCpu, {{"T", DType::kBool}});
  for (const DType out : {DType::kFloat, DType::kDouble}) {
    registry.Add<DebugNumericSummaryV2Cpu>("DebugNumericSummaryV2", kCpu,
                                           {{"T", DType::kBool}, {"output_dtype", out}});
  }
}
