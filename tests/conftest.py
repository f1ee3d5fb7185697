"""Options of the test run."""

import os
import tempfile

import pytest

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")          # before anything imports numba.cuda; a GPU's tests set it to 0

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):         # the processes that tests start have the bytecode of the first
    _bytecode = tempfile.TemporaryDirectory()
    os.environ["PYTHONPYCACHEPREFIX"] = _bytecode.name


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is found")
    parser.addoption("--processor", type=int, default=0, metavar="N",
                     help="list the N tests that took most processor time, that of the processes they started included")


def processor_seconds() -> float:
    return sum(os.times()[:4])


BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.stash[BEGAN] = processor_seconds()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        item.user_properties.append(("processor", processor_seconds() - item.stash[BEGAN]))


def pytest_terminal_summary(terminalreporter, config):
    wanted = config.getoption("--processor")
    found = [(dict(r.user_properties)["processor"], r.nodeid) for reports in terminalreporter.stats.values() for r in reports
             if getattr(r, "when", None) == "teardown" and "processor" in dict(r.user_properties)]
    if wanted and found:
        terminalreporter.section(f"{sum(s for s, _ in found):.0f} processor seconds; the {wanted} tests with most of them")
        for seconds, name in sorted(found, reverse=True)[:wanted]:
            terminalreporter.line(f"{seconds:7.2f} {name}")
