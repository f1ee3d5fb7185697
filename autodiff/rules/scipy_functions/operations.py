"""The functions of `scipy.special` that stay calls of SciPy, each a scalar operation (`runtime/special.py`).

Their derivative rules are in `gamma_functions.py`, `bessel.py` and `integrals.py`. DLMF is the Digital Library of
Mathematical Functions of the National Institute of Standards and Technology, https://dlmf.nist.gov. A parameter with respect
to which there is no closed form has None: differentiating with respect to it is an error.
"""

from scipy import special

from ...runtime import special as compiled
from ...transforms.language.ops import special_function

for _name, _arity in compiled.ARITY.items():
    special_function(_name, _arity, getattr(special, _name))
hurwitz, spherical_bessel = compiled.zeta, compiled.spherical_jn
special_function("zeta", 2, hurwitz)
special_function("spherical_jn", 2, spherical_bessel)
