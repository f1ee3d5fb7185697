"""CPython's capsules through `ctypes`, with types of their own: those of `ctypes.pythonapi` are the whole process', and
other libraries give its functions other ones."""

from __future__ import annotations

import ctypes

API = ctypes.PyDLL(ctypes.pythonapi._name, handle=ctypes.pythonapi._handle)

new = API.PyCapsule_New                     # of an address, a name, and the address of a destructor
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name_of = API.PyCapsule_GetName
name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
pointer = API.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
is_valid = API.PyCapsule_IsValid
is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
rename = API.PyCapsule_SetName
rename.restype, rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

__all__ = ["API", "is_valid", "name_of", "new", "pointer", "rename"]
