from .crossproduct.batch import cross_many as cross_many
from .crossproduct.exact import CrossProduct as CrossProduct
from .crossproduct.exact import cross as cross
from .crossproduct.exact import cross_log as cross_log
from .errors import ArgumentError as ArgumentError
from .errors import MissingDependencyError as MissingDependencyError
from .sketch.maps import SJLT as SJLT
from .sketch.products import sketched_cross as sketched_cross

__version__: str
