#include "tests/kernels/embedding_runs.hpp"

namespace gpubench {
namespace {

using namespace embedding;

class EmbeddingCounts : public EmbeddingRuns {};

TEST_F(EmbeddingCounts, SectorsAreTheLaws) {
  for (const unsigned vectors : {2u, 4u, 8u, 16u, 32u, 64u, 256u}) {
    // So many rows that a warp meets none twice.
    bags_of(Uniform{(1u << 28) / (vectors * vector_bytes)}, 1024 / vectors, vectors);
    const auto& loads = counts().at(model::Space::global, model::Access::load);
    EXPECT_EQ(loads.sectors / loads.requests, sectors_a_request(vectors * 16.0)) << vectors;
  }
}

}  // namespace
}  // namespace gpubench
