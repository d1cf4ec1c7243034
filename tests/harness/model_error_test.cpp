#include "harness/records/model_error.hpp"

#include <gtest/gtest.h>

namespace gpubench {
namespace {

TEST(ModelError, IsThatOfTheKernelOrElseOfItsConcept) {
  EXPECT_NE(model_sigma("attention", "tiled"), model_sigma("attention", "standard"));
  EXPECT_EQ(model_sigma("stream", "read"), model_sigma("stream", "copy"));
  EXPECT_NE(model_sigma("stream", "read"), model_sigma("attention", "tiled"));
  EXPECT_EQ(model_sigma("no such", "kernel"), model_sigma("nor", "this"));
  EXPECT_GT(model_sigma("no such", "kernel"), 0);
}

}  // namespace
}  // namespace gpubench
