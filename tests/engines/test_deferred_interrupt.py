"""Signals that wait for the end of a block."""

import signal
import threading

import pytest

from headrace.engines.spark.session.deferred_interrupt import deferred_interrupts


@pytest.fixture(autouse=True)
def python_handler():
    """Have Python's own handler, whoever else lives in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_behind_the_block():
    done = []

    def work():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_is_set_meanwhile_stays_and_hears_it():
    heard = []

    def handler(number, _frame):
        heard.append(number)

    with deferred_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is handler
    assert heard == [signal.SIGINT]


def test_what_ends_the_process_still_does():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_have_no_signals_to_put_off():
    found = []

    def work():
        with deferred_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
