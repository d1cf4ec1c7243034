// Ctrl-C, and other requests to end, end a run early without losing what it has: whoever loops
// looks here.
#pragma once

namespace gpubench {

// From now on the first SIGINT, SIGTERM, SIGHUP (unless it is ignored, as under nohup) or SIGXCPU
// only makes interrupted() true; a second one ends the process. What comes within moments of the
// first, or comes once more by way of pass_on_interrupt(), is the same request. SIGPIPE too makes
// interrupted() true, however often it comes. SIGXFSZ is ignored: a write beyond the limit fails
// like any other. Where the limit of CPU time is a hard one alone, which no SIGXCPU announces, it
// is noted as one shortly before.
void catch_interrupts();
bool interrupted();
// Which signal it was, the first of them; 0: none.
int interrupting_signal();
// As if `signal` had come: another process got it.
void request_interrupt(int signal);
// Sends the signal to a process that may have got it from the terminal too. Safe in a handler.
void pass_on_interrupt(int process, int signal);

}  // namespace gpubench
