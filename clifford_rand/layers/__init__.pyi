from .equivariant import EquivariantLinear as EquivariantLinear
from .equivariant import GeometricProductLayer as GeometricProductLayer
from .equivariant import GradeGate as GradeGate
from .equivariant import GradeNorm as GradeNorm
from .equivariant import WeightedProduct as WeightedProduct
