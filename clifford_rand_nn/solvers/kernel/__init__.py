"""The gated problem through its kernel FFᵀ = (XXᵀ)∘(DDᵀ): order n, whatever the number of weights."""
