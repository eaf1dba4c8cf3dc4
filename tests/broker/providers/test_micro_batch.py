"""The worker thread: what waits goes together, in order, and nobody's work is done after they left."""

import asyncio
import threading

import numpy as np
import pytest

from broker.providers.micro_batch import MicroBatcher


class Gate:
    """A doubling forward pass that waits for leave, and remembers what it was given."""

    def __init__(self):
        self.batches = []
        self.threads = set()
        self.entered = threading.Semaphore(0)
        self.leave = threading.Semaphore(0)

    def __call__(self, rows):
        self.batches.append(rows[:, 0].tolist())
        self.threads.add(threading.get_ident())
        self.entered.release()
        assert self.leave.acquire(timeout=10)
        return 2 * rows


def column(*values):
    return np.array(values, float)[:, None]


async def started(forward, **options):
    batcher = MicroBatcher("test", lambda: forward, **options)
    await batcher.start()
    return batcher


async def entered(gate):
    assert await asyncio.to_thread(gate.entered.acquire, timeout=10)


async def test_what_waits_while_the_thread_is_busy_goes_in_one_batch_and_comes_back_to_its_callers():
    gate = Gate()
    batcher = await started(gate)
    first = asyncio.create_task(batcher.run(column(1)))
    await entered(gate)
    others = [asyncio.create_task(batcher.run(rows)) for rows in (column(2, 3), column(4))]
    await asyncio.sleep(0)
    gate.leave.release(2)
    results = [(await task).results[:, 0].tolist() for task in (first, *others)]
    assert gate.batches == [[1.0], [2.0, 3.0, 4.0]]
    assert results == [[2.0], [4.0, 6.0], [8.0]]
    assert threading.get_ident() not in gate.threads
    await batcher.close()


async def test_work_whose_caller_has_gone_is_skipped_before_it_starts():
    gate = Gate()
    batcher = await started(gate)
    first = asyncio.create_task(batcher.run(column(1)))
    await entered(gate)
    gone, stays = (asyncio.create_task(batcher.run(column(value))) for value in (2, 3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    gate.leave.release(2)
    await asyncio.gather(first, stays)
    assert gate.batches == [[1.0], [3.0]]
    await batcher.close()


async def test_a_batch_ends_at_the_row_limit():
    gate = Gate()
    batcher = await started(gate, max_rows=2)
    tasks = [asyncio.create_task(batcher.run(column(0)))]
    await entered(gate)
    tasks += [asyncio.create_task(batcher.run(column(value))) for value in (1, 2, 3)]
    await asyncio.sleep(0)
    gate.leave.release(3)
    await asyncio.gather(*tasks)
    assert gate.batches == [[0.0], [1.0, 2.0], [3.0]]
    await batcher.close()


async def test_a_failing_batch_fails_its_callers_and_the_next_one_works():
    calls = []

    def forward(rows):
        calls.append(len(rows))
        if len(calls) == 1:
            raise RuntimeError("boom")
        return rows

    batcher = await started(forward)
    with pytest.raises(RuntimeError, match="boom"):
        await batcher.run(column(1))
    assert (await batcher.run(column(5))).results.tolist() == [[5.0]]
    await batcher.close()


async def test_a_load_that_fails_is_raised_by_start():
    def load():
        raise ValueError("no such policy")

    with pytest.raises(ValueError, match="no such policy"):
        await MicroBatcher("test", load).start()


async def test_closing_finishes_what_waits_and_ends_the_thread():
    batcher = await started(lambda rows: rows)
    waiting = asyncio.create_task(batcher.run(column(1)))
    await asyncio.sleep(0)
    await batcher.close()
    assert (await waiting).results.tolist() == [[1.0]]
    assert "test" not in {thread.name for thread in threading.enumerate()}


async def test_the_loop_turns_while_the_thread_works():
    gate = Gate()
    batcher = await started(gate)
    task = asyncio.create_task(batcher.run(column(1)))
    await entered(gate)
    turns = 0
    for _ in range(50):
        await asyncio.sleep(0)
        turns += 1
    assert turns == 50
    assert not task.done()
    gate.leave.release()
    await task
    await batcher.close()
