import types

from . import io as io
from . import operator as operator
from . import tools as tools
from . import transformations as transformations
from .constructors import Cl as Cl
from .constructors import ConformalLayout as ConformalLayout
from .constructors import conformalize as conformalize
from .io import read_ga_file as read_ga_file
from .io import write_ga_file as write_ga_file
from .layout import Layout as Layout
from .multivector import EPS as EPS
from .multivector import MultiVector as MultiVector
from .operator import Frame as Frame
from .operator import MVArray as MVArray
from .operator import array as array
from .operator import bases as bases
from .operator import basis_vectors as basis_vectors
from .operator import elements as elements
from .operator import eps as eps
from .operator import gp as gp
from .operator import grade_obj as grade_obj
from .operator import ip as ip
from .operator import linear_operator_as_matrix as linear_operator_as_matrix
from .operator import op as op
from .operator import randomMV as randomMV
from .order import BasisBladeOrder as BasisBladeOrder
from .order import BasisVectorIds as BasisVectorIds
from .order import _powerset as _powerset
from .transformations import BladeMap as BladeMap

dpga: types.ModuleType
g2: types.ModuleType
g2c: types.ModuleType
g3: types.ModuleType
g3_1: types.ModuleType
g3c: types.ModuleType
g4: types.ModuleType
gac: types.ModuleType
pga: types.ModuleType
pga2d: types.ModuleType
sta: types.ModuleType
