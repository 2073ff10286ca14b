// SPDX-License-Identifier: Apache-2.0
// run_model MODEL IMAGES OUT N SIDE: floats of N square pictures in, what the model says of them
// out, through thalweg/model.h alone.
#include <thalweg/model.h>

#include <cstdlib>
#include <fstream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int64_t n = std::atoll(argv[4]), side = std::atoll(argv[5]);
  std::vector<float> pictures(static_cast<size_t>(n * side * side * 3));
  std::ifstream(argv[2], std::ios::binary)
      .read(reinterpret_cast<char*>(pictures.data()),
            static_cast<std::streamsize>(pictures.size() * sizeof(float)));
  const tw::Model model = tw::Model::Load(argv[1]).OrThrow();
  const tw::NamedTensors out =
      model.Run({{"image", tw::Tensor::Of<float>(pictures, {n, side, side, 3})}}).OrThrow();
  if (out.size() != 1) return 1;
  const tw::Tensor& classes = out.begin()->second;
  std::ofstream(argv[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(classes.data<float>()),
             static_cast<std::streamsize>(classes.num_elements() * 4));
}
