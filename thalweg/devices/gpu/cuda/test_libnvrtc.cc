// SPDX-License-Identifier: Apache-2.0
// A libnvrtc.so.12 of the tests: what it "compiles" is the source behind a word, which the
// libcuda.so.1 of the tests takes. It refuses a source with the word "nonsense", as compilers do.
#include <cstring>
#include <string>

#define NVRTC extern "C" __attribute__((visibility("default"))) int

namespace {

struct Program {
  std::string source, log, image;
};
Program* Of(void* program) { return static_cast<Program*>(program); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int error) {
  return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INTERNAL_ERROR";
}
NVRTC nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return 0;
}
NVRTC nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return 0;
}
NVRTC nvrtcGetSupportedArchs(int* archs) {
  const int supported[] = {52, 80, 90};
  std::memcpy(archs, supported, sizeof(supported));
  return 0;
}
NVRTC nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                         const char* const*) {
  *program = new Program{source, "", ""};
  return 0;
}
NVRTC nvrtcDestroyProgram(void** program) {
  delete Of(*program);
  *program = nullptr;
  return 0;
}
NVRTC nvrtcCompileProgram(void* program, int count, const char* const* options) {
  Program& own = *Of(program);
  if (own.source.find("nonsense") != std::string::npos) {
    own.log = "kernel.cl(1): error: identifier \"nonsense\" is undefined";
    return 6;
  }
  own.image = "fake";
  for (int i = 0; i < count; ++i) own.image += std::string(" ") + options[i];
  own.image += "\n" + own.source;
  return 0;
}
NVRTC nvrtcGetProgramLogSize(void* program, size_t* size) {
  *size = Of(program)->log.size() + 1;
  return 0;
}
NVRTC nvrtcGetProgramLog(void* program, char* log) {
  std::memcpy(log, Of(program)->log.c_str(), Of(program)->log.size() + 1);
  return 0;
}
NVRTC nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = Of(program)->image.size() + 1;
  return 0;
}
NVRTC nvrtcGetCUBIN(void* program, char* image) {
  std::memcpy(image, Of(program)->image.c_str(), Of(program)->image.size() + 1);
  return 0;
}
NVRTC nvrtcGetPTXSize(void* program, size_t* size) { return nvrtcGetCUBINSize(program, size); }
NVRTC nvrtcGetPTX(void* program, char* image) { return nvrtcGetCUBIN(program, image); }
