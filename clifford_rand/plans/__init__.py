"""Plans of the product of two key sets: by a table, through matrices, over subsets, or in closed form."""
