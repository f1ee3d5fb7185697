"""Derivatives as C functions: a pointer with a status, and SciPy's low-level callbacks."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numba
import numpy as np
from numba import carray, types

from ..calling.inside_numba import attempted
from ..calling.tracebacks import entry as outermost
from ..transforms.language.errors import TypeConflict
from ..transforms.language.ops import PARTS, is_complex
from .entries import Entry, entry
from .leaves import unique

NUMBERS = {"float64": "double", "float32": "float", "bool": "uint8_t"}
KEYWORDS = ("auto bool break case char const continue default do double else enum extern float for goto if inline int "
            "long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile "
            "while NULL " + " ".join(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)))
LONGEST = 4096                              # bytes of a message, with the 0 at its end
MISFITS = {2: "a result has another shape than the memory that was given for it",
           3: "the function gives another number of coordinates than the input has axes"}
_KEPT: list = []                            # C code has no references: what it was given lives as long as the process
RETURNS = """   Returns 0, or 1 if the function raises an error, or 2 if a result has another shape than the sizes say;
   then no result is written. */"""


class Guarded:
    """An entry that writes its results where it is told and gives a status, in compiled code, and keeps why it failed.

    attempt: the compiled function `attempt(*arguments, *results)`, results as arrays (numbers: of one element), to 0, 1 (an
        error), or 2 (a result of another shape); then nothing is written. message: why the last call that failed did;
        message_address: where C finds that text, as `const char *`.
    """

    def __init__(self, made: Entry):
        self.entry = made
        self._text = ctypes.create_string_buffer(LONGEST)
        self.message_address = ctypes.addressof(self._text)
        _KEPT.append(self)
        self._explain = explaining(len(_KEPT) - 1, len(made.arguments))
        fits = "".join(f" and r{k}.shape == found[{k}].shape" for k, p in enumerate(made.results) if p.rank)
        passed = ", ".join(f"a{k}" for k in range(len(made.arguments)))
        into = "".join(f", r{k}" for k in range(len(made.results)))
        lines = [f"def attempt({(passed + into).removeprefix(', ')}):", "    status = 1",
                 f"    done, found = function({passed})", "    if done:", f"        status = 0 if True{fits} else 2",
                 "    if status == 0:", "        pass",
                 *(line for k, p in enumerate(made.results) for line in stored(f"r{k}", f"found[{k}]", p.rank)),
                 "    else:", f"        explain({', '.join(filter(None, ('status', passed)))})", "    return status"]
        self._function = attempted(made.function, len(made.arguments))
        self.attempt = compiled(lines, {"function": self._function, "explain": self._explain}, "attempt")

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled: its address is one of this process. Pickle the "
                        "function, and call autodiff.cfunc there")

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def message(self) -> str:
        return self._text.value.decode(errors="replace")


def stored(into: str, found: str, rank: int) -> list[str]:
    """Lines that store a result: loops, since Numba compiles the texts of errors for a slice, a second of them."""
    places = [f"i{axis}" for axis in range(rank)]
    lines = [f"        {'    ' * axis}for {i} in range({found}.shape[{axis}]):" for axis, i in enumerate(places)]
    at = ", ".join(places)
    return [*lines, f"        {'    ' * rank}{into}[{at or 0}] = {found}{f'[{at}]' if at else ''}"]


class CFunction(Guarded):
    """What `cfunc` gives: a C function that writes its results where it is told and returns a status, never an exception.

    address: of the function, an integer. ctypes: the same as a ctypes function. header: its type in C. name: what that
    calls it. entry: the `Entry` behind it. message: why the last call that failed did; message_address: where C finds that
    text, as `const char *`.
    """

    def __init__(self, made: Entry, name: str):
        super().__init__(made)
        self.name = name
        self._callables: dict[str, Any] = {}
        function, self.header = self._with_status()
        self.address: int = function.address
        self.ctypes = function.ctypes

    def _with_status(self):
        """(the C function, its declaration)."""
        c = Parameters(self.entry)
        given = [c.taken(p, c.names[k]) for k, p in enumerate(self.entry.arguments)]
        results = [c.given(p, c.names[len(given) + k]) for k, p in enumerate(self.entry.results)]
        body = [f"def call({', '.join(c.passed)}):", f"    return attempt({', '.join([*given, *results])})"]
        names = {"attempt": self.attempt, "carray": carray, "np": np}
        call = numba.cfunc(types.int32(*c.kinds))(defined(body, names, "call"))
        _KEPT.append(call)
        about = f"/* {self.name}: arrays in C order, complex numbers as pairs of real and imaginary part.\n{RETURNS}\n"
        return call, f"#include <stdint.h>\n\n{about}typedef int32_t (*{self.name})({', '.join(c.declared)});\n"

    def low_level_callable(self, kind: str):
        """The function as a `scipy.LowLevelCallable`, which SciPy calls without Python.

        kind: "quad": a number from one or more numbers (the first is integrated over, the others come by `args=`).
            "nquad": a number from one or more numbers.
            "generic_filter": a number from the array of a window. "geometric_transform": the array, or the numbers, of the
            coordinates in the input from the array (of integers or float64) of those in the output.
        Where the function raises an error, integrands are nan and the others report to SciPy, which raises RuntimeError;
        `message` says why.
        Raises TypeConflict where the function has another form, ValueError for another kind, ImportError without SciPy.
        """
        from scipy import LowLevelCallable  # only these need SciPy
        if kind not in SIGNATURES:
            raise ValueError(f"kind={kind!r}: one of {', '.join(map(repr, SIGNATURES))}")
        if kind not in self._callables:
            call, signature = callback(self, kind)
            _KEPT.append(call)
            self._callables[kind] = LowLevelCallable(call.ctypes, signature=signature)
        return self._callables[kind]


class Parameters:
    """The parameters of a C function, as they are collected. passed: their names in Python; kinds: their Numba types;
    declared: their declarations in C; names: of the entry's arguments and results in these."""

    def __init__(self, made: Entry):
        self.passed: list[str] = []
        self.kinds: list = []
        self.declared: list[str] = []
        self.names = unique([p.name for p in (*made.arguments, *made.results)], KEYWORDS.split())
        self._used = set(self.names)

    def add(self, kind, declared: str) -> str:
        """A parameter; its name in Python."""
        name = f"p{len(self.passed)}"
        self.passed.append(name)
        self.kinds.append(kind)
        self.declared.append(declared)
        return name

    def beside(self, name: str, what: str) -> str:
        """The name of a size or of a part of what has this name, which no other parameter has."""
        (found,) = unique([f"{name}_{what}"], self._used)
        self._used.add(found)
        return found

    def taken(self, place, name: str) -> str:
        """The expression of an argument that is passed."""
        if place.rank:
            return self.array(place, name, "const ")
        if is_complex(place.dtype):
            part = PARTS[place.dtype]
            parts = [self.add(getattr(types, part), f"{NUMBERS[part]} {self.beside(name, half)}") for half in ("re", "im")]
            return f"np.{place.dtype}(complex({parts[0]}, {parts[1]}))"
        if place.dtype == "bool":
            return f"({self.add(types.uint8, f'uint8_t {name}')} != 0)"
        return self.add(getattr(types, place.dtype), f"{c_type(place.dtype)} {name}")

    def given(self, place, name: str) -> str:
        """The expression of the memory of a result."""
        if place.rank:
            return self.array(place, name, "")
        return f"carray({self.add(types.voidptr, f'{c_type(place.dtype)} *{name}')}, (1,), np.{numpy_name(place.dtype)})"

    def array(self, place, name: str, const: str) -> str:
        start = self.add(types.voidptr, f"{const}{c_type(place.dtype)} *{name}")
        sizes = [self.add(types.int64, f"int64_t {self.beside(name, f'size{k}' if place.rank > 1 else 'size')}")
                 for k in range(place.rank)]
        return f"carray({start}, ({''.join(s + ', ' for s in sizes)}), np.{numpy_name(place.dtype)})"


def c_type(dtype: str) -> str:
    return NUMBERS.get(PARTS.get(dtype, dtype), f"{dtype}_t")


def numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def defined(lines: list[str], namespace: dict, name: str):
    exec("\n".join(lines) + "\n", namespace)
    return namespace[name]


def compiled(lines: list[str], namespace: dict, name: str):
    """The compiled function of this text."""
    return numba.njit(defined(lines, namespace, name))


def explaining(number: int, count: int):
    """The compiled function `explain(status, *arguments)` that keeps the message of what failed; it raises nothing itself.

    number: of the `CFunction`, by which compiled code knows it.
    """
    names = ", ".join(["status", *(f"a{k}" for k in range(count))])
    lines = [f"def ask({names}):", "    with numba.objmode():", f"        record({number}, {names})"]
    ask = compiled(lines, {"numba": numba, "record": record}, "ask")
    lines = [f"def explain({names}):", "    try:", f"        ask({names})", "    except Exception:", "        pass"]
    return compiled(lines, {"ask": ask}, "explain")


def record(number: int, status: int, *args) -> None:
    """Keep why a call failed: the entry runs again, in Python, on copies of the arguments."""
    made = _KEPT[number]
    if status in MISFITS:
        keep(made._text, f"ValueError: {MISFITS[status]}")
        return
    try:
        made.entry.function(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
        keep(made._text, "the function failed once, and not when it was called again")
    except Exception as e:
        keep(made._text, "\n".join([f"{type(e).__name__}: {e}", *getattr(e, "__notes__", ())]))


def keep(text, message: str) -> None:
    """Put a message where C reads it, whole characters of it."""
    text.value = message.encode()[:LONGEST - 1].decode(errors="ignore").encode()


# ---- SciPy's callbacks --------------------------------------------------------------------------------------
SIGNATURES = {"quad": "double (double)", "nquad": "double (int, double *)",
              "generic_filter": "int (double *, npy_intp, double *, void *)",
              "geometric_transform": "int (npy_intp *, double *, int, int, void *)"}
FORMS = {"quad": "takes numbers and returns one", "nquad": "takes numbers and returns one",
         "generic_filter": "takes one array of float64 with one axis and returns a number",
         "geometric_transform": "takes one array of coordinates (float64 or int64) and returns one, or numbers"}


def callback(made: CFunction, kind: str):
    """(the C function that SciPy calls, its signature)."""
    taken, given = made.entry.arguments, made.entry.results
    count = len(taken)
    numbers = all(not p.rank and p.dtype == "float64" for p in taken) and count
    a_number = len(given) == 1 and not given[0].rank and not is_complex(given[0].dtype)
    one_array = count == 1 and taken[0].rank == 1
    allowed = {"quad": numbers and a_number, "nquad": numbers and a_number,
            "generic_filter": one_array and a_number and taken[0].dtype == "float64",
            "geometric_transform": one_array and taken[0].dtype in ("float64", "int64") and given and (
                len(given) == 1 and given[0].rank == 1 or not any(p.rank for p in given))}
    if not allowed[kind]:
        raise TypeConflict(f"{kind!r} needs a function that {FORMS[kind]}; `{made.name}` takes "
                           f"{', '.join(map(described, taken))} and returns {', '.join(map(described, given))}")
    if kind in ("quad", "nquad"):
        form, kinds = ("quad", [types.float64]) if kind == "quad" and count == 1 else (
            "nquad", [types.intc, types.CPointer(types.float64)])
        arguments = ["p0"] if form == "quad" else [f"p1[{k}]" for k in range(count)]
        passed = ", ".join(arguments)
        lines = ["    value = np.nan", f"    done, found = function({passed})", "    if done:",
                 "        value = float(found[0])", "    else:", f"        explain(1, {passed})", "    return value"]
        return of_scipy(made, lines, types.float64(*kinds)), SIGNATURES[form]
    pointer = types.CPointer(types.float64)
    if kind == "generic_filter":
        result: list[str]
        window, fits, result = "carray(p0, (p1,))", "True", ["p2[0] = found[0]"]
        kinds = [pointer, types.intp, pointer, types.voidptr]
    else:
        window = f"carray(p0, (p2,)).astype(np.{taken[0].dtype})"
        if given[0].rank:
            fits, result = "found[0].size == p3", ["for k in range(p3):", "    p1[k] = found[0][k]"]
        else:
            fits, result = f"p3 == {len(given)}", [f"p1[{k}] = found[{k}]" for k in range(len(given))]
        kinds = [types.CPointer(types.intp), pointer, types.intc, types.intc, types.voidptr]
    lines = [f"    a0 = {window}", "    status = 1", "    done, found = function(a0)", "    if done:",
             f"        status = 0 if {fits} else 3", "    if status == 0:", *(f"        {line}" for line in result),
             "    else:", "        explain(status, a0)", "    return 1 if status == 0 else 0"]
    return of_scipy(made, lines, types.intc(*kinds)), SIGNATURES[kind]


def described(place) -> str:
    return f"`{place.path}` ({place.dtype}" + (f", {place.rank} axes)" if place.rank else ")")


def of_scipy(made: CFunction, lines: list[str], signature):
    """The C function with this body and signature."""
    names = ", ".join(f"p{k}" for k in range(len(signature.args)))
    body = compiled([f"def body({names}):", *lines], {
        "function": made._function, "explain": made._explain, "carray": carray, "np": np}, "body")
    call = defined([f"def call({names}):", f"    return body({names})"], {"body": body}, "call")
    return numba.cfunc(signature)(call)


@outermost
def cfunc(function, *examples, wrt=None, kind: str = "value", name: str | None = None, boundscheck: bool = True,
          fastmath: bool = False, precise: bool = False) -> CFunction:
    """`function`, or a derivative of it, as a C function: for programs in C and others that call pointers.

    function: any that `entry` takes, so that `cfunc(grad(f), x)` is the gradient; examples, wrt, kind and the options are
    those of `entry`, but for what kind is by default. name: the name of its type in the header.
    The C function takes a pointer and sizes (int64) for each array, in C order; complex arrays hold pairs, complex numbers
    are two arguments, booleans bytes. Results go to pointers of the caller's, with sizes likewise. It may be called from
    several threads at once, and needs Python only to say why it failed: a thread that waits for it must not hold the GIL
    (ctypes.CDLL does not). It lives as long as the process. Errors raised here are those of `entry`.
    """
    if name is not None and (not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS.split()):
        raise ValueError(f"name={name!r}: a name in C, of letters, digits and _, that is none of its keywords")
    made = entry(function, *examples, wrt=wrt, kind=kind, boundscheck=boundscheck, fastmath=fastmath, precise=precise)
    called = name or re.sub(r"\W+_*", "_", f"{getattr(function, '__name__', 'function')}_{kind}").strip("_")
    return CFunction(made, called)


__all__ = ["CFunction", "cfunc"]
