"""How one product of two key sets is computed: by a table, through matrices, over subsets, or in closed form."""
