// What rows differ in, by their names.
#pragma once

#include <map>
#include <string>

#include "harness/bench/training/exchange.hpp"
#include "harness/platform/gemm.hpp"
#include "kernels/training_step.cuh"

namespace training_step {

enum class Read { never, each_step, each_fourth_step, one_step_late };

inline constexpr unsigned gpus = 8;  // that exchange gradients

struct Setting {
  gpubench::GemmType type = gpubench::GemmType::bf16;
  Switches switches{};
  bool graph = false;
  Read read = Read::never;
  bool starved = false;
  bool odd_vocabulary = false;
  bool exchanges = false;
  Way way = Way::at_end;
};

inline Setting setting_of(const std::string& with) {
  constexpr Switches fast{.fused = true, .tiled = true, .fused_adamw = true};
  Switches fast_fp8 = fast;
  fast_fp8.fp8 = true;
  const std::map<std::string, Setting> known{
      {"nothing", {}},
      {"fp32", {.type = gpubench::GemmType::fp32}},
      {"tf32", {.type = gpubench::GemmType::tf32}},
      {"fp8", {.switches = {.fp8 = true}}},
      {"fused", {.switches = {.fused = true}}},
      {"tiled", {.switches = {.tiled = true}}},
      {"fused_adamw", {.switches = {.fused_adamw = true}}},
      {"checkpointing", {.switches = {.checkpointing = true}}},
      {"accumulation", {.switches = {.parts = 2}}},
      {"clipping", {.switches = {.clip_at = 1}}},
      {"graph", {.graph = true}},
      {"item", {.read = Read::each_step}},
      {"item_every_4", {.read = Read::each_fourth_step}},
      {"item_late", {.read = Read::one_step_late}},
      {"starved", {.starved = true}},
      {"odd_vocabulary", {.odd_vocabulary = true}},
      {"all_reduce", {.exchanges = true}},
      {"buckets", {.exchanges = true, .way = Way::in_buckets}},
      {"sharded", {.switches = {.shards = gpus}, .exchanges = true, .way = Way::sharded}},
      {"fast", {.switches = fast}},
      {"fast_fp8", {.switches = fast_fp8}},
      {"fast_graph", {.switches = fast, .graph = true}},
      {"fast_item", {.switches = fast, .read = Read::each_step}},
      {"fast_starved", {.switches = fast, .starved = true}},
  };
  return known.at(with);
}

// GPT-2's vocabulary, or with its table padded to a multiple of 64; of the smallest model letters'.
inline Shape shape_of(unsigned hidden, bool odd_vocabulary) {
  const unsigned vocabulary = odd_vocabulary ? 50257 : 50304;
  switch (hidden) {
    case 256:
      return {4, 256, 256, 4, 2, odd_vocabulary ? 253u : 256u};
    case 768:  // GPT-2 small, 2 of its 12 layers
      return {8, 1024, 768, 12, 2, vocabulary};
    case 4096:  // one layer of a model of 7 B
      return {2, 2048, 4096, 32, 1, vocabulary};
    default:
      return {4, 2048, 2048, 16, 2, vocabulary};
  }
}

}  // namespace training_step
