// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/heap_claim.h"

#include <iterator>
#include <map>
#include <utility>

#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {
namespace {

constexpr double kFree = 32 << 10;
constexpr int kAll = -1;

// What a call takes: so many times the bytes of this input, or of all together.
struct Share {
  int input;
  double times;
};

class HeapClaim final : public Kernel {
 public:
  HeapClaim(std::unique_ptr<Kernel> kernel, const Share& share)
      : kernel_(std::move(kernel)), share_(share) {}

  Status Compute(Context& ctx) override {
    double bytes = 0;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (share_.input == kAll || share_.input == i) bytes += share_.times * BytesOf(ctx.input(i));
    }
    HeapCharge charge;
    if (bytes > kFree) {
      RETURN_IF_ERROR(charge.Set(ctx.allocator(), static_cast<size_t>(bytes)));
    }
    return kernel_->Compute(ctx);
  }

 private:
  static double BytesOf(const Tensor& value) {
    if (value.kind() != Tensor::Kind::kBuffer) return 0;
    size_t bytes = value.bytes();
    if (value.dtype() == DType::kString) bytes += TextHeapBytes(value.flat<std::string>());
    return static_cast<double>(bytes);
  }

  const std::unique_ptr<Kernel> kernel_;
  const Share share_;
};

// testing/uncharged_memory_test.cc measures every operation and says what is missing here.
constexpr std::pair<std::string_view, Share> kShares[] = {
    {"ApproxTopK", {0, 1.75}},
    {"AudioSummary", {1, 1.75}},
    {"AudioSummaryV2", {1, 1.75}},
    {"BatchCholesky", {0, 0.75}},
    {"BatchCholeskyGrad", {kAll, 1.75}},
    {"BatchMatrixDeterminant", {0, 0.75}},
    {"BatchMatrixInverse", {0, 1.25}},
    {"BatchMatrixSolve", {kAll, 1.25}},
    {"BatchMatrixTriangularSolve", {kAll, 0.75}},
    {"BatchSelfAdjointEig", {0, 0.75}},
    {"BatchSelfAdjointEigV2", {0, 0.75}},
    {"BatchSvd", {0, 6.25}},
    {"Bincount", {kAll, 1.25}},
    {"CTCBeamSearchDecoder", {0, 8.25}},
    {"CTCGreedyDecoder", {0, 3}},
    {"Cholesky", {0, 0.75}},
    {"CholeskyGrad", {kAll, 1.75}},
    {"CombinedNonMaxSuppression", {1, 2.25}},
    {"ComputeAccidentalHits", {0, 1.25}},
    {"DenseBincount", {kAll, 1.25}},
    {"DenseCountSparseOutput", {0, 19.5}},
    {"DenseToDenseSetOperation", {kAll, 12.25}},
    {"DenseToSparseBatchDataset", {2, 1.75}},
    {"DenseToSparseSetOperation", {0, 12.25}},
    {"DeserializeSparse", {0, 1.5}},
    {"DumpTensor", {0, 3.25}},
    {"EditDistance", {kAll, 0.25}},
    {"Eig", {0, 3.75}},
    {"EncodeBase64", {0, 0.5}},
    {"EncodeJpeg", {0, 0.5}},
    {"EncodeJpegVariableQuality", {0, 0.25}},
    {"ExperimentalDenseToSparseBatchDataset", {2, 1.75}},
    {"FFT", {0, 1.25}},
    {"FFT2D", {0, 0.75}},
    {"FFT3D", {0, 0.5}},
    {"FakeQuantWithMinMaxVarsPerChannel", {1, 6.25}},
    {"FakeQuantWithMinMaxVarsPerChannelGradient", {2, 6.25}},
    {"Fingerprint", {1, 1.25}},
    {"FractionalAvgPool", {0, 0.5}},
    {"FractionalMaxPool", {0, 0.5}},
    {"FusedBatchNorm", {1, 14.25}},
    {"FusedBatchNormGrad", {2, 13.25}},
    {"FusedBatchNormGradV2", {2, 13.25}},
    {"FusedBatchNormGradV3", {2, 13.25}},
    {"FusedBatchNormV2", {1, 14.25}},
    {"FusedBatchNormV3", {1, 14.25}},
    {"IFFT", {0, 2.25}},
    {"IFFT2D", {0, 0.5}},
    {"IFFT3D", {0, 0.5}},
    {"IRFFT2D", {0, 0.5}},
    {"ImageSummary", {1, 1.75}},
    {"ImportEvent", {1, 1.25}},
    {"InitializeTableFromTextFile", {1, 2.25}},
    {"InitializeTableFromTextFileV2", {1, 2.25}},
    {"LoadAndRemapMatrix", {2, 3.25}},
    {"LogMatrixDeterminant", {0, 0.75}},
    {"Lu", {0, 0.75}},
    {"MatchingFiles", {0, 1}},
    {"MatrixDeterminant", {0, 0.75}},
    {"MatrixExponential", {0, 4.25}},
    {"MatrixInverse", {0, 1.25}},
    {"MatrixLogarithm", {0, 4.75}},
    {"MatrixSolve", {kAll, 1.25}},
    {"MatrixSquareRoot", {0, 9}},
    {"MatrixTriangularSolve", {kAll, 0.75}},
    {"MergeV2Checkpoints", {0, 1.25}},
    {"NonMaxSuppression", {1, 8.25}},
    {"NonMaxSuppressionV2", {1, 8.25}},
    {"NonMaxSuppressionV3", {1, 8.25}},
    {"NonMaxSuppressionV4", {1, 8.25}},
    {"NonMaxSuppressionV5", {1, 8.25}},
    {"PaddedBatchDataset", {2, 1.75}},
    {"PaddedBatchDatasetV2", {2, 1.75}},
    {"ParseSequenceExampleV2", {0, 0.25}},
    {"ParseTensor", {0, 1.25}},
    {"Qr", {0, 2.25}},
    {"RFFT", {0, 1.5}},
    {"RFFT2D", {0, 0.5}},
    {"RFFT3D", {0, 0.5}},
    {"RaggedBincount", {kAll, 2.25}},
    {"RaggedCountSparseOutput", {0, 1.25}},
    {"RaggedCross", {1, 1.25}},
    {"RaggedFillEmptyRows", {kAll, 1.25}},
    {"RaggedFillEmptyRowsGrad", {kAll, 5}},
    {"RaggedGather", {kAll, 1.25}},
    {"RaggedTensorToSparse", {0, 1.25}},
    {"RaggedTensorToTensor", {kAll, 5}},
    {"RaggedTensorToVariant", {0, 1.25}},
    {"RaggedTensorToVariantGradient", {1, 1.25}},
    {"RegexReplace", {0, 1.5}},
    {"RequantizationRangePerChannel", {1, 4.25}},
    {"RequantizePerChannel", {1, 4.25}},
    {"ResizeArea", {0, 0.5}},
    {"ResizeBicubic", {0, 0.5}},
    {"ResizeBicubicGrad", {kAll, 1.75}},
    {"SampleDistortedBoundingBox", {1, 3.25}},
    {"SampleDistortedBoundingBoxV2", {1, 3.25}},
    {"Save", {2, 5.25}},
    {"SaveSlices", {2, 2.25}},
    {"ScalarSummary", {kAll, 4.25}},
    {"ScaleAndTranslate", {0, 0.25}},
    {"ScaleAndTranslateGrad", {kAll, 0.25}},
    {"SegmentMax", {1, 2.25}},
    {"SegmentMin", {1, 2.25}},
    {"SegmentProd", {1, 2.25}},
    {"SegmentSum", {1, 2.25}},
    {"SelfAdjointEig", {0, 1.25}},
    {"SelfAdjointEigV2", {0, 0.75}},
    {"SerializeSparse", {kAll, 1.25}},
    {"SerializeTensor", {0, 2.25}},
    {"SparseAdd", {kAll, 3.25}},
    {"SparseAddGrad", {kAll, 1.25}},
    {"SparseBincount", {kAll, 0.75}},
    {"SparseConcat", {kAll, 2.5}},
    {"SparseDenseCwiseMul", {kAll, 1}},
    {"SparseFillEmptyRowsGrad", {kAll, 3.25}},
    {"SparseReduceMax", {kAll, 1.5}},
    {"SparseReduceMaxSparse", {kAll, 1.5}},
    {"SparseReduceSum", {kAll, 1.5}},
    {"SparseReduceSumSparse", {kAll, 1.5}},
    {"SparseReorder", {kAll, 0.75}},
    {"SparseSegmentMean", {1, 4.25}},
    {"SparseSegmentMeanWithNumSegments", {1, 4.25}},
    {"SparseSegmentSqrtN", {1, 4.25}},
    {"SparseSegmentSqrtNWithNumSegments", {1, 4.25}},
    {"SparseSegmentSum", {1, 4.25}},
    {"SparseSegmentSumGrad", {1, 5.25}},
    {"SparseSegmentSumGradV2", {1, 7.25}},
    {"SparseSegmentSumWithNumSegments", {1, 4.25}},
    {"SparseSlice", {kAll, 1.5}},
    {"SparseSliceGrad", {1, 1.25}},
    {"SparseSoftmax", {kAll, 1.25}},
    {"SparseSparseMaximum", {kAll, 3}},
    {"SparseSparseMinimum", {kAll, 3}},
    {"SparseSplit", {kAll, 1.5}},
    {"StatelessSampleDistortedBoundingBox", {1, 3.25}},
    {"StaticRegexReplace", {0, 0.75}},
    {"StringLower", {0, 0.5}},
    {"StringNGrams", {1, 1.25}},
    {"StringStrip", {0, 0.5}},
    {"StringUpper", {0, 0.5}},
    {"Svd", {0, 6.25}},
    {"TensorSummary", {0, 2.25}},
    {"TensorSummaryV2", {1, 2.25}},
    {"TopK", {0, 0.75}},
    {"TopKV2", {0, 0.75}},
    {"UnicodeDecode", {0, 13.25}},
    {"UnicodeDecodeWithOffsets", {0, 2.25}},
    {"UnicodeTranscode", {0, 1.5}},
    {"UnsortedSegmentJoin", {1, 1.25}},
    {"UnsortedSegmentMax", {1, 2.25}},
    {"UnsortedSegmentMin", {1, 2.25}},
    {"UnsortedSegmentProd", {1, 2.25}},
    {"UnsortedSegmentSum", {1, 2.25}},
    {"WriteAudioSummary", {3, 2.25}},
    {"WriteImageSummary", {3, 1.75}},
    {"WriteSummary", {2, 3.25}},
};

}  // namespace

std::unique_ptr<Kernel> WithHeapClaim(std::unique_ptr<Kernel> kernel, std::string_view op) {
  static const std::map<std::string_view, Share> shares(std::begin(kShares), std::end(kShares));
  const auto found = shares.find(op);
  if (found == shares.end() || kernel->AsAsync() != nullptr) return kernel;
  return std::make_unique<HeapClaim>(std::move(kernel), found->second);
}

}  // namespace thalweg
