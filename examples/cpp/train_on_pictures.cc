// SPDX-License-Identifier: Apache-2.0
// Trains a small net on a folder of JPEGs, FOLDER/train/CLASS/*.jpg, and tests it on
// FOLDER/test/CLASS/*.jpg: train_on_pictures [FOLDER]; without one, on the handwritten digits,
// written as JPEGs.
#include <thalweg/dataset.h>
#include <thalweg/ops.h>

#include <cstdio>

#include "model.h"
#include "pictures.h"

namespace ops = tw::ops;

int main(int argc, char** argv) {
  const Pictures given(argc > 1 ? argv[1] : "");
  const tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  const tw::Output classes = g.Strings(given.classes()), side = g.Const<int32_t>({32, 32}, {2});

  const auto read = [&](const tw::Output& name) {
    const tw::Output image = ops::DecodeJpeg(ops::ReadFile(name), {{"channels", 3}});
    const tw::Output resized = ops::ResizeBilinear(ops::ExpandDims(image, g.Scalar(0)), side);
    const tw::Output of_folder = ops::StaticRegexReplace(name, ".*/([^/]*)/[^/]*", "\\1");
    const tw::Output is_class = ops::Cast(ops::Equal(classes, of_folder), tw::kInt32);
    return tw::Outputs{ops::Squeeze(resized) / g.Scalar(255.0f),
                       ops::ArgMax(is_class, g.Scalar(0))};
  };
  const auto dataset = [&](const std::string& part) {
    return tw::Dataset::ListFiles(g, given.folder() + "/" + part + "/*/*.jpg", true, 1)
        .Map(read, 2);
  };
  const tw::Dataset batches =
      dataset("train").Cache().Shuffle(2000, 2).Repeat().Batch(64).Prefetch(2);
  const tw::Outputs batch = batches.MakeOneShotIterator().GetNext();

  Model model(g);
  tw::Output x = model.Pool(model.Convolution(batch[0], 3, 16));
  x = model.Pool(model.Convolution(x, 16, 32));
  const auto count = static_cast<int>(given.classes().size());
  const tw::Output scores = model.Dense(model.Reshape(x, {-1, 8 * 8 * 32}), 8 * 8 * 32, count);
  const tw::Output loss = model.CrossEntropy(scores, batch[1]);
  tw::Optimizer adam = tw::Optimizer::Adam(0.003);
  const tw::Node step = adam.Minimize(loss, model.variables());
  const tw::Output hit = ops::Cast(ops::InTopK(scores, batch[1], 1), tw::kFloat);
  const tw::Output accuracy = model.Mean(hit);

  tw::Session session = tw::Session::Create(g).OrThrow();
  session.Run({}, {}, model.Initializers(adam)).OrThrow();
  for (int i = 1; i <= 120; ++i) {
    const tw::Tensor now = session.Run({}, {loss}, {step}).OrThrow()[0];
    if (i % 20 == 0) std::printf("step %d  loss %.4f\n", i, now.scalar<float>());
  }
  double right = 0, seen = 0;
  for (const tw::Tensors& test : dataset("test").Batch(100).Elements()) {
    const auto n = static_cast<double>(test[1].num_elements());
    const tw::Feeds feeds = {{batch[0], test[0]}, {batch[1], test[1]}};
    right += n * session.Run(feeds, {accuracy}).OrThrow()[0].scalar<float>();
    seen += n;
  }
  std::printf("test accuracy: %.4f\n", right / seen);
  return right / seen >= 0.9 ? 0 : 1;
}
