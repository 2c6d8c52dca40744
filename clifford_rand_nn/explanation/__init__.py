"""What a fitted network does, in terms of its rows, neurons and columns: `explain`."""
