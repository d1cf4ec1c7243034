// Ctrl-C ends a run early without losing what it has: whoever loops looks here.
#pragma once

namespace gpubench {

// From now on the first SIGINT only makes interrupted() true; a second one ends the process.
void catch_interrupts();
bool interrupted();

}  // namespace gpubench
