"""The arcsine as a polynomial, for those that have none in double precision, or none without branches."""

# Of arcsin(s)/s by rising powers of z = s² ≤ 1/4: interpolation in the Chebyshev points of [0, 1/4], error 2e-17.
ARCSINE = (
    1.0,
    0.16666666666664942,
    0.07500000000385201,
    0.044642856805998936,
    0.03038195969768514,
    0.022371749733164054,
    0.01735977964134998,
    0.01388484282640208,
    0.012170138592391726,
    0.0065293020047365695,
    0.019513468251252167,
    -0.016187392271599134,
    0.03187962140081284,
)
