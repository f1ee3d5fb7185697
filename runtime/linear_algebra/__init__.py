"""Dense linear algebra for generated code, by BLAS, LAPACK and SciPy."""
