// Ctrl-C, and other requests to end, end a run early without losing what it has: whoever loops
// looks here.
#pragma once

namespace gpubench {

// From now on the first SIGINT, SIGTERM, SIGHUP (unless it is ignored, as under nohup) or SIGXCPU
// only makes interrupted() true; a second one ends the process. So does SIGPIPE, however often it
// comes. SIGXFSZ is ignored: a write beyond the limit fails like any other.
void catch_interrupts();
bool interrupted();
// Which signal it was, the first of them; 0: none.
int interrupting_signal();

}  // namespace gpubench
