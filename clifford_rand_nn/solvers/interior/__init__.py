"""What interior-point methods share: the dual of a loss, inequalities with their multipliers."""
