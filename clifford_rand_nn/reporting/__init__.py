"""What a fit says: one record of facts, which the command line, its JSON and the HTML page read."""
