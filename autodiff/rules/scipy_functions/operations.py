"""The functions of `scipy.special` that stay calls of SciPy, each a scalar operation (`runtime/numbers/special.py`).

Their derivative rules are in `gamma_functions.py`, `bessel.py` and `integrals.py`. DLMF is the Digital Library of
Mathematical Functions of the National Institute of Standards and Technology, https://dlmf.nist.gov. A parameter with respect
to which there is no closed form has None: differentiating with respect to it is an error.
"""

from scipy import special

from ...runtime.numbers import special as compiled
from ...transforms.language.ops import special_function

for _name, _arity in compiled.ARITY.items():
    special_function(_name, _arity, getattr(special, _name))
hurwitz = compiled.zeta
spherical_j, spherical_y = compiled.spherical_jn, compiled.spherical_yn
spherical_i, spherical_k = compiled.spherical_in, compiled.spherical_kn
special_function("zeta", 2, hurwitz)
for _spherical in (spherical_j, spherical_y, spherical_i, spherical_k):
    special_function(_spherical.__name__, 2, _spherical)
