"""Tests; a package, since some library installs another one of this name."""
