//! Work done side by side, with results in the order in which it was given.

use std::{
    collections::VecDeque,
    io, mem, process,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread::{self, JoinHandle},
};

struct Job<I, O> {
    input: I,
    reply: SyncSender<O>,
}

/// A pool of threads that take inputs in order. They end with the pool.
///
/// A forked child has none of them and must not wait for one.
pub(crate) struct Workers<I, O> {
    process: u32,
    jobs: Option<Sender<Job<I, O>>>,
    threads: Vec<JoinHandle<()>>,
    pending: VecDeque<Receiver<O>>,
}

impl<I: Send + 'static, O: Send + 'static> Workers<I, O> {
    /// One thread for each of `workers`, which keep what they need from one job to the next.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn new<W>(workers: impl IntoIterator<Item = W>) -> io::Result<Self>
    where
        W: FnMut(I) -> O + Send + 'static,
    {
        let (jobs, queue) = channel::<Job<I, O>>();
        let queue = Arc::new(Mutex::new(queue));
        let mut pool = Self {
            process: process::id(),
            jobs: Some(jobs),
            threads: Vec::new(),
            pending: VecDeque::new(),
        };
        for mut work in workers {
            let queue = Arc::clone(&queue);
            let run = move || {
                while let Some(job) = next_job(&queue) {
                    // Fails only after the pool was dropped, when the reply is not needed.
                    let _ = job.reply.send(work(job.input));
                }
            };
            pool.threads.push(thread::Builder::new().name("headrace-block".into()).spawn(run)?);
        }
        Ok(pool)
    }

    /// Whether the threads are there: false in the child of the process that started them.
    pub(crate) fn are_here(&self) -> bool {
        self.process == process::id()
    }

    /// Results that are still to be taken.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Give work.
    pub(crate) fn give(&mut self, input: I) {
        let (reply, receiver) = sync_channel(1);
        if let Some(jobs) = &self.jobs {
            // Without a thread to take it, `take` will find no reply and say so.
            let _ = jobs.send(Job { input, reply });
        }
        self.pending.push_back(receiver);
    }

    /// The next result, when it is there; `None` when nothing is pending.
    ///
    /// # Errors
    /// When the thread that had the work is gone.
    pub(crate) fn take(&mut self) -> io::Result<Option<O>> {
        let Some(receiver) = self.pending.pop_front() else { return Ok(None) };
        receiver.recv().map(Some).map_err(|_| io::Error::other("a working thread has ended"))
    }
}

fn next_job<J>(queue: &Mutex<Receiver<J>>) -> Option<J> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl<I, O> Drop for Workers<I, O> {
    fn drop(&mut self) {
        if self.process != process::id() {
            // A thread that is not here may have been holding any of it.
            mem::forget((self.jobs.take(), mem::take(&mut self.pending)));
            mem::forget(mem::take(&mut self.threads));
            return;
        }
        // Without a giver of work the threads end, after what they have begun.
        self.jobs = None;
        self.pending.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        let slow_first = |input: u64| {
            thread::sleep(std::time::Duration::from_micros(500 * (3 - input % 3)));
            input * 2
        };
        let mut workers = Workers::new([slow_first, slow_first]).unwrap();
        let mut results = Vec::new();
        for input in 0..20 {
            workers.give(input);
            if workers.pending() == 4 {
                results.extend(workers.take().unwrap());
            }
        }
        while let Some(result) = workers.take().unwrap() {
            results.push(result);
        }
        assert_eq!(results, (0..20).map(|input| input * 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_thread_that_ended_is_an_error_and_not_a_wait() {
        let mut workers = Workers::<u8, u8>::new([|_| panic!("on purpose")]).unwrap();
        workers.give(1);
        assert!(workers.take().is_err());
        workers.give(2);
        assert!(workers.take().is_err());
    }
}
