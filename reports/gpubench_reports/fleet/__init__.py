"""A fleet: each GPU judged against its peers of the same kind, and what is slow found and named."""
