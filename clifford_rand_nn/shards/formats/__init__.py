"""Formats of stored rows: one file a format, all with a name, a shape, a type and a plain way to read some rows."""
