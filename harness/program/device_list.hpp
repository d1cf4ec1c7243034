#pragma once

namespace gpubench {

// --list_devices: the GPUs of this machine, and what the device files describe.
void list_devices();

}  // namespace gpubench
