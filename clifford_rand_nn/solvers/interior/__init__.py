"""Parts of interior-point methods: the dual of a loss, inequalities with their multipliers."""
