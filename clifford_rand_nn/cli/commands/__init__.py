"""One file per command: its options, and what it does with them. Loaded when asked for, and light until it runs."""
