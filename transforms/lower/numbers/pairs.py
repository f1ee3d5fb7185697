"""Complex numbers as pairs of real ones: an atom with two parts, and the builder that writes it as two real atoms.

The core language knows real numbers only. While a program is lowered a complex number is a `Complex` atom (or a `Const` of
complex dtype), and an array of them is a real buffer with one more, last axis of length 2. Derivatives with respect to
the parts are then derivatives of real functions, in every mode and order, and the adjoint of z, dL/dRe z + i dL/dIm z, is
the pair of the adjoints of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ...language.build import as_int, loops
from ...language.core import Arr, Atom, Const, Var
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import COMPLEX, PARTS, is_complex, is_inexact
from .integers import IntegerBuilder


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number: two real atoms of one float dtype."""

    re: Atom
    im: Atom

    @property
    def dtype(self) -> str:
        return COMPLEX[self.re.dtype]

    @property
    def hint(self) -> str:
        return getattr(self.re, "hint", "z").removesuffix("_re")


def parts_of(atom) -> tuple:
    """The real and imaginary part of an atom, real or complex."""
    if isinstance(atom, Complex):
        return atom.re, atom.im
    if not is_complex(atom.dtype):
        return atom, Const(0.0, atom.dtype)
    value = complex(atom.value)
    return Const(value.real, PARTS[atom.dtype]), Const(value.imag, PARTS[atom.dtype])


def is_zero(atom) -> bool:
    """Whether a part is the constant 0.0 (not -0.0)."""
    return isinstance(atom, Const) and repr(atom.value) == "0.0"


class PairBuilder(IntegerBuilder):
    """A builder whose atoms and buffers may be complex; what it emits is real.

    Parts that are the constant 0 take no part in products: `2.0 * z` and `1j * z` are two multiplications. NumPy makes
    both factors complex first, which differs where a part is infinite.
    """

    def var(self, hint: str, dtype: str):
        """A new variable, or a pair of them."""
        if is_complex(dtype):
            return Complex(Var(f"{hint}_re", PARTS[dtype]), Var(f"{hint}_im", PARTS[dtype]))
        return Var(hint, dtype)

    # -- operations -------------------------------------------------------------------------------------------
    def let(self, op: str, *args, dtype: str, hint: str = "t"):
        if not is_complex(dtype) and not any(is_complex(a.dtype) for a in args):
            return super().let(op, *args, dtype=dtype, hint=hint)
        method = getattr(self, "complex_" + op, None)
        if method is None:
            raise UnsupportedSyntax(f"the operation `{op}` of complex numbers is not supported", self.loc,
                                    "work with real and imaginary parts: z.real, z.imag")
        return method(*args, dtype=dtype, hint=hint)

    def each(self, op: str, *args, dtype: str, hint: str):
        """An operation on the real parts and the same on the imaginary parts."""
        part = PARTS[dtype]
        return Complex(*(self.let(op, *which, dtype=part, hint=f"{hint}_{name}" if hint not in ("t", "s") else hint)
                         for name, which in zip(("re", "im"), zip(*map(parts_of, args), strict=True), strict=True)))

    def complex_cast(self, x, dtype, hint):
        if not is_complex(dtype):
            raise TypeConflict(f"a complex number stands where a real one ({dtype}) is needed", self.loc,
                               "take a part of it: z.real, z.imag, np.abs(z)")
        if isinstance(x, Const):
            return Const(complex(x.value), dtype)
        re, im = parts_of(x)
        part = PARTS[dtype]
        return Complex(self.let("cast", re, dtype=part, hint=hint), self.let("cast", im, dtype=part, hint=hint))

    def complex_add(self, a, b, dtype, hint, op="add"):
        (a_re, a_im), (b_re, b_im) = parts_of(a), parts_of(b)
        part = PARTS[dtype]
        if is_zero(b_im) or is_zero(a_im):
            im = a_im if is_zero(b_im) else b_im
        else:
            im = self.let(op, a_im, b_im, dtype=part, hint=hint)
        return Complex(self.let(op, a_re, b_re, dtype=part, hint=hint), im)

    def complex_sum(self, a, b, dtype, hint):
        return self.complex_add(a, b, dtype, hint, "sum")

    def complex_sub(self, a, b, dtype, hint):
        (a_re, a_im), (b_re, b_im) = parts_of(a), parts_of(b)
        part = PARTS[dtype]
        if is_zero(b_im):
            im = a_im
        elif is_zero(a_im):
            im = self.let("neg", b_im, dtype=part, hint=hint)
        else:
            im = self.let("sub", a_im, b_im, dtype=part, hint=hint)
        return Complex(self.let("sub", a_re, b_re, dtype=part, hint=hint), im)

    def complex_mul(self, a, b, dtype, hint):
        (a_re, a_im), (b_re, b_im) = parts_of(a), parts_of(b)
        part = PARTS[dtype]

        def times(x, y):
            if is_zero(x) or is_zero(y):
                return Const(0.0, part)
            if isinstance(x, Const) and x.value == -1 or isinstance(y, Const) and y.value == -1:
                return self.let("neg", y if isinstance(x, Const) and x.value == -1 else x, dtype=part, hint=hint)
            return self.let("mul", x, y, dtype=part, hint=hint)
        if a_re == b_re and (self.is_negative(a_im, b_im) or self.is_negative(b_im, a_im)):         # z * conj(z)
            return Complex(self.let("add", times(a_re, a_re), times(a_im, a_im), dtype=part, hint=hint), Const(0.0, part))
        if is_zero(b_im):
            return Complex(times(a_re, b_re), a_im if is_zero(a_im) else times(a_im, b_re))
        if is_zero(a_im):
            return Complex(times(a_re, b_re), times(a_re, b_im))
        if is_zero(a_re):                                           # 1j * z
            return Complex(self.let("neg", times(a_im, b_im), dtype=part, hint=hint), times(a_im, b_re))
        if is_zero(b_re):
            return Complex(self.let("neg", times(a_im, b_im), dtype=part, hint=hint), times(a_re, b_im))
        return Complex(self.let("sub", times(a_re, b_re), times(a_im, b_im), dtype=part, hint=hint),
                       self.let("add", times(a_re, b_im), times(a_im, b_re), dtype=part, hint=hint))

    def is_negative(self, x, y) -> bool:
        """Whether `x` was made as -y."""
        return isinstance(x, Var) and self.facts.definition.get(x) == ("neg", (y,))

    def complex_neg(self, x, dtype, hint):
        return self.each("neg", x, dtype=dtype, hint=hint)

    def complex_stop(self, x, dtype, hint):
        return self.each("stop", x, dtype=dtype, hint=hint)

    def complex_copy(self, x, dtype, hint):
        return self.each("copy", x, dtype=dtype, hint=hint)

    def complex_link(self, value, *pairs, dtype, hint):
        """The value with the derivative of a holomorphic function: dw = slope dz, by the Cauchy-Riemann equations."""
        re, im, part = [], [], PARTS[dtype]
        for slope, z in zip(pairs[::2], pairs[1::2], strict=True):
            (s_re, s_im), (x, y) = parts_of(slope), parts_of(z)
            re += [s_re, x] if is_zero(s_im) else [s_re, x, self.let("neg", s_im, dtype=part), y]
            im += [s_re, y] if is_zero(s_im) else [s_im, x, s_re, y]
        v_re, v_im = parts_of(value)
        return Complex(self.let("link", v_re, *re, dtype=part, hint=hint),
                       self.let("link", v_im, *im, dtype=part, hint=hint))

    def complex_eq(self, a, b, dtype, hint):
        (a_re, a_im), (b_re, b_im) = parts_of(a), parts_of(b)
        return self.let("and", self.compare("eq", a_re, b_re), self.compare("eq", a_im, b_im), dtype="bool", hint=hint)

    def complex_ne(self, a, b, dtype, hint):
        (a_re, a_im), (b_re, b_im) = parts_of(a), parts_of(b)
        return self.let("or", self.compare("ne", a_re, b_re), self.compare("ne", a_im, b_im), dtype="bool", hint=hint)

    def sum(self, total, term, dtype: str, hint: str = "s"):
        return self.let("sum" if is_inexact(dtype) else "add", total, term, dtype=dtype, hint=hint)

    # -- memory -----------------------------------------------------------------------------------------------
    def alloc(self, hint: str, dtype: str, shape, fill=None, why: str = "", pairs: bool = False) -> Arr:
        if not is_complex(dtype):
            return super().alloc(hint, dtype, shape, fill, why, pairs)
        re, im = parts_of(fill) if fill is not None else (None, None)
        array = super().alloc(hint, PARTS[dtype], (*shape, 2), re if re == im else None, why, True)
        if re != im:
            loops(self, array.shape[:-1], lambda b, index: b.store(array, index, Complex(re, im)))
        return array

    def load(self, array: Arr, index, hint: str = ""):
        if not self.is_whole(array, index):
            return super().load(array, index, hint)
        hint = hint or array.hint
        return Complex(super().load(array, (*index, 0), f"{hint}_re"), super().load(array, (*index, 1), f"{hint}_im"))

    def store(self, array: Arr, index, value, accumulate: bool | str = False) -> None:
        if not self.is_whole(array, index):
            if is_complex(value.dtype):
                self.complex_cast(value, array.dtype, "")
            return super().store(array, index, value, accumulate)
        for k, part in enumerate(parts_of(value)):
            if not (accumulate and is_zero(part)):
                super().store(array, (*index, as_int(k)), part, accumulate)

    @staticmethod
    def is_whole(array: Arr, index) -> bool:
        """Whether an index means a complex element, not one of its parts."""
        return array.pairs and len(index) == len(array.shape) - 1

    # -- statements -------------------------------------------------------------------------------------------
    def add(self, stmt):
        """Complex numbers that a loop carries or a branch merges are carried and merged part by part."""
        for name in ("carries", "merges"):
            entries = getattr(stmt, name, ())
            if any(isinstance(e.var, Complex) for e in entries):
                stmt = replace(stmt, **{name: tuple(part for e in entries for part in by_parts(e))})
        return super().add(stmt)


def by_parts(entry):
    """A carry or merge of a complex number as two of real ones."""
    if not isinstance(entry.var, Complex):
        return (entry,)
    values = [parts_of(getattr(entry, f.name)) for f in fields(entry)]
    return tuple(type(entry)(*which) for which in zip(*values, strict=True))


__all__ = ["Complex", "PairBuilder", "parts_of"]
