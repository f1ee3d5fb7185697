"""What differentiates in a file or package: `python -m autodiff check`."""
