"""Tensor: a NumPy array with a history."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..calling.tracebacks import entry
from ..transforms.source.plain import as_plain, misfit
from .modes import STATE, volatile_seen
from .nodes import Accumulation, Handle

LARGE = 1 << 14                         # bytes, from which on allocating costs more than comparing
COPIES: dict = {}                       # id of a large constant array -> (weak reference to it, its last copy)


class Tensor:
    """A NumPy array that records what is computed from it, as torch's tensors do.

    data: anything `np.array` takes; it is copied. Python floats become float64.
    dtype: the dtype of the copy.
    requires_grad: whether gradients with respect to it are wanted. RuntimeError for integers and booleans.
    volatile: (legacy) nothing computed with it keeps history.

    Operators, methods and NumPy's functions on Tensors give Tensors. `Variable` is another name of this class.
    """

    if TYPE_CHECKING:           # what operators.py adds
        def __getattr__(self, name: str) -> Any: ...
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __pow__: Any
        __matmul__: Any
        __neg__: Any
        __abs__: Any
        __getitem__: Any
        __setitem__: Any
        __iter__: Any

    _array: np.ndarray
    _node: Any = None           # the node that made it; None for leaves
    _number = 0                 # which output of the node it is
    _requires = False
    __autodiff_tensor__ = ("_array", "_requires")       # what compiled code asks of a Tensor that it was not given
    _counter: list | None = None                    # [version], shared by all that see the same memory
    _base: Any = None                               # for a view, the tensor whose memory it shows
    _steps: tuple = ()                              # and how it is taken from it
    _seen = 0                                       # the base's stamp when this view's history was last looked up
    _stamp = 0                                      # number of recorded changes in place
    _fixed: str | None = None                       # why a view may not be changed in place
    _accumulation: Any = None                            # weak reference to a leaf's accumulation node
    _grad: Tensor | None = None
    _hooks: dict | None = None
    _after: dict | None = None
    _volatile = False
    _inference = False
    _rewards = None

    __array_priority__ = 1000

    def __init__(self, data, dtype=None, requires_grad: bool = False, volatile: bool = False):
        if isinstance(data, Tensor):
            data = data._array
        self._array = np.array(_plain(data), dtype=dtype)
        if self._array.dtype.kind not in "biufc":
            raise TypeError(f"a Tensor holds numbers, not {self._array.dtype}")
        if volatile:
            if requires_grad:
                raise ValueError("a volatile Variable cannot require grad")
            warnings.warn("volatile is a legacy flag: use no_grad()", DeprecationWarning, stacklevel=2)
            volatile_seen()
            self._volatile = True
        if STATE.inference:
            self._inference = True
        if requires_grad:
            self.requires_grad_()

    # -- the array ----------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple:
        return self._array.shape

    @property
    def dtype(self):
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def numel(self) -> int:
        return self._array.size

    def dim(self) -> int:
        return self._array.ndim

    def numpy(self) -> np.ndarray:
        """The array itself, sharing memory. RuntimeError if the Tensor requires grad, outside no_grad: see `detach`."""
        if STATE.enabled and self.requires_grad:
            raise RuntimeError("Can't take the array of a Tensor that requires grad: use tensor.detach().numpy(), "
                               "np.stack to make one Tensor of several, or autodiff.differentiable(f)(tensor) to call a "
                               "function f of SciPy, which takes arrays only")
        return self._array

    def __array__(self, dtype=None, copy=None):
        data = self.numpy()
        if dtype is not None and dtype != data.dtype:
            return data.astype(dtype)
        return data.copy() if copy else data

    def item(self, *index):
        """The only element as a Python number, or the one at an index, as NumPy counts them."""
        if index:
            return self._array.item(*index)
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to a number")
        return self._array.item()

    def tolist(self):
        return self._array.tolist()

    def __float__(self):
        return float(self._scalar())

    def __int__(self):
        return int(self.item())

    def __complex__(self):
        return complex(self._scalar())

    def _scalar(self):
        """The only element, for Python's functions: a warning where its history is lost on the way."""
        value = self.item()
        if STATE.enabled and self.requires_grad:
            warnings.warn("a Tensor that requires grad becomes a Python number, which has no history: say t.item() or "
                          "t.detach() if that is meant, and np.sin for math.sin", UserWarning, stacklevel=3)
        return value

    def __index__(self):
        if self._array.dtype.kind not in "iu":
            raise TypeError("only integer Tensors of one element can be an index")
        return int(self.item())

    def __bool__(self):
        if self._array.size != 1:
            raise RuntimeError(f"the truth value of a Tensor with {self._array.size} elements, not one, is ambiguous")
        return bool(self._array.item())

    def __len__(self):
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __hash__(self):
        return id(self)

    def __repr__(self):
        text = np.array2string(self._array, separator=", ", prefix="tensor(")
        if self._array.dtype not in (np.float64, np.int64, np.bool_, np.complex128):
            text += f", dtype={self._array.dtype}"
        try:
            node = self.grad_fn
        except RuntimeError as e:                   # a view that lost its history
            node = f"<{type(e).__name__}>"
        if node is not None:
            text += f", grad_fn={node!r}" if not isinstance(node, str) else ", grad_fn=<Invalid>"
        elif self._requires:
            text += ", requires_grad=True"
        return f"tensor({text})"

    def __format__(self, spec):
        return format(self._array.item(), spec) if self._array.size == 1 and spec else repr(self)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("only leaves, Tensors made by the user, can be deep-copied: use detach().clone()")
        made = type(self)(self._array)
        made._requires = self._requires
        made._volatile = self._volatile
        made._grad = None if self._grad is None else Tensor(self._grad._array)
        memo[id(self)] = made
        return made

    def __reduce__(self):
        if not self.is_leaf:
            raise RuntimeError("only leaves, Tensors made by the user, can be pickled: use detach()")
        return _rebuild, (self._array, self._requires)

    # -- history ------------------------------------------------------------------------------------------------
    def _current(self) -> Tensor:
        """Look up the history again if the memory that this view shows was changed through another name."""
        base = self._base
        if base is not None and base._stamp != self._seen:
            from .views import refresh  # these are made of tensors
            refresh(self)
        return self

    def _edge(self) -> tuple:
        """(node, output number) that the cotangent of this Tensor goes to."""
        if self._base is not None:
            self._current()
        node = self._node
        if node is not None:
            return node, self._number
        reference = self._accumulation
        node = reference() if reference is not None else None
        if node is None:
            node = Accumulation(self)
            self._accumulation = weakref.ref(node)
        return node, 0

    @property
    def requires_grad(self) -> bool:
        """Whether gradients with respect to it are recorded. Can be set on leaves."""
        return self._current()._requires

    @requires_grad.setter
    def requires_grad(self, flag):
        if not self.is_leaf:
            raise RuntimeError("requires_grad of a Tensor that was computed cannot be changed, only that of a leaf: use "
                               "detach() to get one that does not require grad")
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in place; returns the Tensor. RuntimeError for integers, and for clearing a non-leaf."""
        if requires_grad and self._array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point or complex dtype can require gradients, not "
                               f"{self._array.dtype}")
        if requires_grad and self._inference and not STATE.inference:
            raise RuntimeError("a Tensor made in inference_mode cannot require grad outside it: clone() it")
        if requires_grad and self._volatile:
            raise ValueError("a volatile Variable cannot require grad")
        if not self.is_leaf:
            if not requires_grad:
                raise RuntimeError("requires_grad of a Tensor that was computed cannot be cleared, only that of a leaf: use "
                                   "detach()")
            return self
        self._requires = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, or needs no gradient."""
        return self._current()._node is None

    @property
    def grad_fn(self):
        """The node that made it; None for a leaf."""
        return self._current()._node

    @property
    def output_nr(self) -> int:
        return self._current()._number

    @property
    def volatile(self) -> bool:
        """(legacy) Whether nothing computed with it keeps history."""
        return self._volatile

    @volatile.setter
    def volatile(self, flag):
        if not self.is_leaf:
            raise RuntimeError("volatile can only be set on leaf variables")
        self._volatile = bool(flag)
        if self._volatile:
            volatile_seen()

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Tensors made in inference_mode do not count their versions")
        return 0 if self._counter is None else self._counter[0]

    def _shared_counter(self) -> list:
        if self._counter is None:
            self._counter = [0]
        return self._counter

    def _saved(self) -> tuple:
        """(counter, version) of a Tensor that a node saves."""
        if self._inference:
            raise RuntimeError("Inference tensors cannot be saved for backward: clone() what was made in inference_mode, or "
                               "make it in no_grad")
        counter = self._shared_counter()
        return counter, counter[0]

    # -- gradients ----------------------------------------------------------------------------------------------
    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf (or after `retain_grad`), of the Tensor's shape and dtype."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warnings.warn("the .grad of a Tensor that is not a leaf is not kept: call retain_grad() on it before backward()",
                          UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"grad must be a Tensor or None, not {type(value).__name__}")
            if value is self:
                raise RuntimeError("a Tensor cannot be its own grad")
            if value.shape != self.shape:
                raise RuntimeError(f"assigned grad has size {value.shape}, the Tensor {self.shape}")
            if value.dtype != self.dtype:
                raise RuntimeError(f"assigned grad has dtype {value.dtype}, the Tensor {self.dtype}")
        self._grad = value

    @grad.deleter
    def grad(self):
        self._grad = None

    @entry
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None, *, retain_variables=None):
        """Add the gradient of this Tensor to `.grad` of the leaves it was computed from; see `autodiff.backward`."""
        from .autograd import backward  # which is made of tensors
        backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs=inputs,
                 retain_variables=retain_variables)

    def retain_grad(self) -> None:
        """Keep `.grad` although this is not a leaf."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad() needs a Tensor with requires_grad=True")
        if self._node is None or self.retains_grad:
            return
        self._node.own_hooks().retained[self._number] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` is in force."""
        node = self._current()._node
        if node is None or node.hooks is None:
            return False
        kept = node.hooks.retained.get(self._number)
        return kept is not None and kept() is self

    def register_hook(self, hook):
        """`hook(grad)` runs at each backward with the total gradient of this Tensor and may return another.

        Returns a handle with `remove()`. RuntimeError if the Tensor does not require grad.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a Tensor that does not require gradient")
        if self._node is None:
            if self._hooks is None:
                self._hooks = {}
            return Handle(self._hooks, hook)
        return Handle(self._node.own_hooks().of_results.setdefault(self._number, {}), hook)

    def register_post_accumulate_grad_hook(self, hook):
        """`hook(leaf)` runs after `.grad` of this leaf was updated by backward."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a Tensor that does not require gradient")
        if self._node is not None:
            raise RuntimeError("a post accumulate grad hook cannot be registered on a non-leaf Tensor")
        if self._after is None:
            self._after = {}
        return Handle(self._after, hook)

    def reinforce(self, reward) -> None:
        """(legacy) Give the reward of each element of a stochastic result, which backward needs."""
        from .stochastic import reinforce  # which is made of tensors
        reinforce(self, reward)

    # -- sharing memory -----------------------------------------------------------------------------------------
    def detach(self) -> Tensor:
        """A leaf that shares memory and version counter and requires no grad."""
        made = self.data
        made._counter = self._shared_counter()
        return made

    def detach_(self) -> Tensor:
        """Cut this Tensor off from its history, in place. RuntimeError for a view."""
        if self._base is not None:
            raise RuntimeError("a view cannot be detached in place: use detach()")
        self._node, self._number, self._requires = None, 0, False
        self._stamp += 1
        return self

    @property
    def data(self) -> Tensor:
        """A leaf that shares memory, with a version counter of its own: writes through it are not noticed."""
        made = wrap(self._array)
        made._volatile, made._inference = self._volatile, self._inference
        return made

    @data.setter
    def data(self, value):
        new = value._array if isinstance(value, Tensor) else as_plain(value)
        if self._requires and new.dtype.kind not in "fc":
            raise RuntimeError("the data of a Tensor that requires grad must be floating point")
        self._array = new

    @property
    def is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`: it cannot be saved for backward, nor changed in place outside."""
        return self._inference


Tensor.__module__ = "autodiff"


def wrap(data) -> Tensor:
    """A leaf around an array, without copying."""
    made = Tensor.__new__(Tensor)
    made._array = data if type(data) is np.ndarray else as_plain(data)
    if STATE.inference:
        made._inference = True
    return made


def tensor(data, dtype=None, requires_grad: bool = False) -> Tensor:
    """A Tensor that holds a copy of `data` (number, sequence or array; of Tensors, their values)."""
    return Tensor(data, dtype, requires_grad)


def data_of(value):
    """The array of a Tensor, other values as they are."""
    return value._array if isinstance(value, Tensor) else value


def check_operand(value) -> None:
    """TypeError for an array or number that means something else than the numbers in it: a mask, a unit."""
    if isinstance(value, (Tensor, np.generic)) or type(value) is np.ndarray:
        return
    if (found := misfit(value)) is not None:
        raise TypeError(". ".join(found))


def last_copy(array: np.ndarray) -> np.ndarray:
    """A copy of a large array: the last one, as long as the array has not changed since."""
    known = COPIES.get(id(array))
    if known is not None and known[0]() is array and known[1].shape == array.shape and known[1].dtype == array.dtype:
        unit = np.int64 if array.nbytes % 8 == 0 else np.uint8
        if np.array_equal(known[1].reshape(-1).view(unit), array.reshape(-1).view(unit)):
            return known[1]
    made, key = array.copy(), id(array)
    COPIES[key] = weakref.ref(array, lambda _: COPIES.pop(key, None)), made
    return made


def constant(value):
    """What a node saves of an operand that is no Tensor: of an array, which counts no versions, a copy."""
    if isinstance(value, np.ndarray):
        value = as_plain(value)
        if not value.flags.writeable and value.base is None:
            return value
        return value.copy() if value.nbytes < LARGE or not value.flags.c_contiguous else last_copy(value)
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def _plain(data):
    if isinstance(data, (list, tuple)) and any(isinstance(d, (Tensor, list, tuple, np.ndarray)) for d in data):
        return [_plain(d) for d in data]
    if isinstance(data, Tensor):
        return data._array
    return as_plain(data) if isinstance(data, np.ndarray) else data


def _rebuild(data, requires) -> Tensor:
    made = wrap(data)
    made._requires = requires
    return made


__all__ = ["Tensor", "check_operand", "constant", "data_of", "tensor", "wrap"]
