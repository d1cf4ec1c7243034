#pragma once

namespace gpubench {

// Whoever starts a program with standard input, output or error closed has the files that it opens
// get their descriptors, and what it prints written to them. To be called before any file is
// opened.
void open_standard_streams();

}  // namespace gpubench
