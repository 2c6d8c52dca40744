"""The methods that the experiments compare, each with its own grid."""
