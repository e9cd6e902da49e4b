/**
 * Entry of a thread in a child. When the daemon was killed (kill -9) while a collector blocks the event loop, the child
 * does not notice; this thread does. Its data is the daemon's process id.
 */
import { workerData } from 'node:worker_threads'
import { systemTime } from '../../edge/time.ts'

while (process.ppid === workerData) await systemTime.sleep(1_000)
process.kill(process.pid, 'SIGKILL')
