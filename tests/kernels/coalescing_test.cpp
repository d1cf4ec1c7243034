#include "tests/kernels/coalescing_runs.hpp"

namespace gpubench {
namespace {

using namespace coalescing;

class Coalescing : public CoalescingRuns {};

TEST_F(Coalescing, EveryStrideReadsAndWritesItsWords) {
  for (const unsigned stride : {1u, 2u, 3u, 8u, 33u}) {
    read_by_stride(stride);
    write_by_stride(stride);
  }
}

TEST_F(Coalescing, AnOffsetShiftsWhatIsRead) {
  for (const unsigned offset : {0u, 1u, 8u, 31u}) {
    SCOPED_TRACE(offset);
    sum(words_of_two_blocks + 32, Shifted{offset}, misaligned_read, offset);
  }
}

TEST_F(Coalescing, WritesFromAnyOffsetAndOfAnyWidth) {
  for (const unsigned offset : {0u, 1u, 8u, 31u}) write_from(offset, misaligned_write, offset);
  write_from(0, vector_write<float>);
  write_from(0, vector_write<float2>);
  write_from(0, vector_write<float4>);
}

TEST_F(Coalescing, WholeRecordsAreTheSameHoweverTheyAreRead) {
  read_whole<ArrayOfStructs>(4, read_records<ArrayOfStructs, 4>);
  read_whole<ArrayOfStructs>(16, read_records<ArrayOfStructs, 16>);
  read_whole<StructOfArrays>(8, read_records<StructOfArrays, 8>);
  read_whole<ArrayOfStructs>(4, read_records_by_vectors<4>);
  read_whole<ArrayOfStructs>(16, read_records_by_vectors<16>);
  read_whole<ArrayOfStructs>(4, read_records_through_shared<4>);
  read_whole<ArrayOfStructs>(8, read_records_through_shared<8>);
  read_whole<ArrayOfStructs>(16, read_records_through_shared<16>);
}

TEST_F(Coalescing, EveryFieldOfARecordIsFoundInEveryLayout) {
  for (const unsigned fields : {1u, 3u, 4u}) {
    read_fields<ArrayOfStructs>(fields);
    read_fields<StructOfArrays>(fields);
    read_fields<ArrayOfStructsOfArrays>(fields);
  }
}

TEST_F(Coalescing, VectorsOfAnyWidthReadTheSameWords) {
  sum(words_of_two_blocks, Shifted{0}, vector_read<float>);
  sum(words_of_two_blocks, Shifted{0}, vector_read<float2>);
  sum(words_of_two_blocks, Shifted{0}, vector_read<float4>);
}

TEST_F(Coalescing, AGatherStaysInItsWindow) {
  for (const unsigned window : {1u, 64u, 4096u}) {
    SCOPED_TRACE(window);
    sum(window, Gathered{window}, gather, window);
  }
}

}  // namespace
}  // namespace gpubench
