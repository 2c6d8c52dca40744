"""Programs that use the library and are not part of it."""
