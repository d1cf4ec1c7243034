// On a GPU: what the model says of the same rows, worked out while they are measured.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/platform/platform.hpp"
#include "harness/program/options.hpp"
#include "harness/records/row.hpp"
#include "harness/system/background_program.hpp"

namespace gpubench {

// The model runs as another program, on cores of its own: this process keeps off them from then on.
// Where there is but one core, or several processes measure, it starts after the last measurement.
class Predictions {
 public:
  // `model`: its program. Says in a line where that is not there, or does not know this device.
  Predictions(const Options& options, const Platform& platform, std::filesystem::path model);
  Predictions(const Predictions&) = delete;
  Predictions& operator=(const Predictions&) = delete;
  ~Predictions();

  // Adds the model's answer, if it is there by now and the row has none.
  void complete(Row& row);
  // Waits until the model is done, or the user interrupts. Says so in a line if it failed.
  void finish();

 private:
  void prepare(const Options& options, const Platform& platform);
  void start(const std::vector<int>& cpus);
  void read();

  std::filesystem::path program_;
  std::vector<std::string> command_;  // empty: no prediction
  std::filesystem::path folder_;      // of temporary files
  std::ifstream journal_;             // the model's, which holds a row as soon as it is done
  std::string cut_off_;               // a line of it that is not all there yet
  std::map<std::string, Row> rows_;   // by name
  std::optional<BackgroundProgram> model_;
};

// What the model says of a row that was measured.
void take_prediction(Row& row, const Row& predicted);

}  // namespace gpubench
