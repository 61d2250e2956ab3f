"""``deferred_interrupts``: an interrupt is raised after the block."""

import signal
import threading

import pytest

from headrace.engines.spark.session.session import deferred_interrupts


@pytest.fixture(autouse=True)
def python_handler():
    """Install Python's own handler of SIGINT, instead of that of another library."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_raised_after_the_block():
    done = []

    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_set_in_the_block_stays_and_receives_the_signal():
    heard = []

    def handler(number, _frame):
        heard.append(number)

    with deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is handler
    assert heard == [signal.SIGINT]


def test_other_signals_are_not_deferred():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_change_no_handler():
    found = []

    def work():
        with deferred_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
