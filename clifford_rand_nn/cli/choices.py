"""What an option may say; which solvers there are depends on the model."""

from enum import StrEnum

Task = StrEnum("Task", "auto classification regression")
ModelKind = StrEnum("ModelKind", "network gated relu lasso")
GateKind = StrEnum("GateKind", "cross gaussian leverage volume simplex polished opposite exhaustive infinite")
Solver = StrEnum(
    "Solver",
    "auto kernel gram fista column_generation interior_point augmented_lagrangian working_set homotopy cvxpy",
)
Penalty = StrEnum("Penalty", "l1 l2 ridge")
Biases = StrEnum("Biases", "penalised free none")
