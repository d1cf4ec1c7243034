// Written by training_step_reference.py.
#pragma once

// clang-format off
namespace training_step_losses {

inline constexpr unsigned seq = 16, hidden = 32, heads = 2, layers = 2,
                          vocabulary = 40;
inline constexpr double of_steps[] = {
    3.6789285289083553,
    3.481157330372552,
    3.3468418770231096,
    3.2472392921309012,
    3.173339955734728,
    3.11739660426709,
    3.0710995305929516,
    3.0313382919027227,
    2.9958777236768235,
    2.961510918614189,
};

}  // namespace training_step_losses
// clang-format on
