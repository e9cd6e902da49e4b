import { readFileSync } from 'node:fs'
import { systemTime } from '../../edge/time.ts'

/** Interval of looks, in milliseconds. A process fills some hundred MB in it. */
const lookMs = 100

/** Memory of all processes of collectors together, in MB; `docs/deploy` adds up the rest. */
export const childrenMemoryMbMax = 1_536

/** A watched process. */
interface BoundedProcess {
  /** Memory that it may have, in MB. */
  readonly mbMax: number
  /** Ends it. @param how what it did, to follow "its process " */
  readonly end: (how: string) => void
}

/**
 * Ends processes of collectors that take too much memory: V8 bounds its own heap, and no buffers. All together are
 * bounded, too; beyond that the largest is ended. Where the system does not say what a process has, the heap's bound
 * is the only one.
 */
class ChildMemory {
  readonly #watched = new Map<number, BoundedProcess>()
  #stop: AbortController | undefined

  add(pid: number, watched: BoundedProcess): void {
    this.#watched.set(pid, watched)
    if (!this.#stop) void this.#watch()
  }

  delete(pid: number): void {
    this.#watched.delete(pid)
    if (this.#watched.size > 0) return
    this.#stop?.abort(new Error('no process is left'))
    this.#stop = undefined
  }

  async #watch(): Promise<void> {
    const stop = new AbortController()
    this.#stop = stop
    while (!stop.signal.aborted) {
      this.#look()
      await systemTime.sleep(lookMs, stop.signal).catch(() => {})
    }
  }

  #look(): void {
    const sizes = [...this.#watched].map(([pid, watched]) => ({ pid, watched, mb: memoryMbOf(pid) }))
    let sum = sizes.reduce((all, { mb }) => all + mb, 0)
    for (const { pid, watched, mb } of sizes.sort((a, b) => b.mb - a.mb)) {
      const isTooLarge = mb > watched.mbMax
      if (!isTooLarge && sum <= childrenMemoryMbMax) return
      sum -= mb
      this.delete(pid)
      watched.end(
        isTooLarge
          ? `needed more than ${watched.mbMax} MB of memory`
          : `needed ${Math.round(mb)} MB of memory, more than any other, when all had more than ${childrenMemoryMbMax} MB`,
      )
    }
  }
}

/** Memory of a process in MB, without the files that it maps; 0 when that is not known. */
function memoryMbOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s*(\d+) kB$/gm)].map(([, amount]) => Number(amount))
    return kilobytes.reduce((all, amount) => all + amount, 0) / 1_024
  } catch {
    return 0
  }
}

/** That of this process. */
export const childMemory = new ChildMemory()
