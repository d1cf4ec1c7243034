"""Two programs, interleaved: the gate for pull requests, and the search for a commit."""
