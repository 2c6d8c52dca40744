from . import clifford as clifford
from . import galgebra as galgebra
from . import kingdon as kingdon
from .clifford.constructors import Cl as Cl
from .clifford.constructors import conformalize as conformalize
from .clifford.layout import Layout as Layout
