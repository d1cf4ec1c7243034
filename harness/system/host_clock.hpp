#pragma once

namespace gpubench {

// A clock of this machine that only goes forward [s].
double host_clock();
void rest_by_host_clock(double seconds);

}  // namespace gpubench
