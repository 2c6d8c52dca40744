"""The solvers that are compared, each in a process of its own, and cases of peers' tests that do not pass here."""
