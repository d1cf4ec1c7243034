// The tracks of a trace that its readers know by name.
#pragma once

namespace gpubench {

inline constexpr const char* host_track = "host";
inline constexpr const char* thread_track = "thread ";  // and its number, from 1
inline constexpr const char* legacy_track = "legacy default stream";
inline constexpr const char* compute_track = "compute";
inline constexpr const char* to_device_track = "copy to device";
inline constexpr const char* to_host_track = "copy to host";

}  // namespace gpubench
