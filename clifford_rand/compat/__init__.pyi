from . import clifford as clifford
from . import galgebra as galgebra
from . import kingdon as kingdon
from .clifford.layout import Cl as Cl
from .clifford.layout import Layout as Layout
from .clifford.layout import conformalize as conformalize
