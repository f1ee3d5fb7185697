"""Options of the test run."""


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is found")
