from .calibration import CalibrationDisplay as CalibrationDisplay
from .calibration import LearningCurveDisplay as LearningCurveDisplay
from .path import RegularizationPathDisplay as RegularizationPathDisplay
from .regions import DecisionRegionsDisplay as DecisionRegionsDisplay
from .style import save_figure as save_figure
from .training import CertificateDisplay as CertificateDisplay
from .training import ConvergenceDisplay as ConvergenceDisplay
