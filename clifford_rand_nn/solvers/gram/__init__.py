"""The gated problem through sums over its rows, FᵀF: order gates × features, however many rows there are."""
