/**
 * Entry of a thread inside a child: when the daemon is gone without a word (kill -9) and a collector spins, the child
 * never learns of it; this thread does. Its seed is the daemon's process id.
 */
import { workerData } from 'node:worker_threads'
import { systemTime } from '../../edge/time.ts'

while (process.ppid === workerData) await systemTime.sleep(1_000)
process.kill(process.pid, 'SIGKILL')
