from . import clifford as clifford
from .clifford.layout import Cl as Cl
from .clifford.layout import Layout as Layout
from .clifford.layout import conformalize as conformalize
