#pragma once

namespace gpubench {

// Whoever starts a program with standard input, output or error closed has the files that it opens
// get their descriptors, and what it prints written to them. To be called before any file is
// opened.
void open_standard_streams();
// Whether this program was started with its standard output closed.
bool is_standard_output_closed();

}  // namespace gpubench
