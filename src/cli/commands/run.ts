import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Command } from 'commander'
import { systemTime, type Time } from '../../edge/time.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { Signals } from '../signals.ts'
import { warmProcesses } from '../warm-processes.ts'

/** Interval at which the heap is looked at again, and growth of the process that makes it worth a collection. */
const heapLookMs = 5_000
const heapGrownBytes = 4 * 1024 * 1024

/** Time after its start in which a daemon has read its first hour; then its heap is made small. */
const heapRestMs = 3_000

/** Time over which is measured whether the process rests. */
const heapSampleMs = 1_000

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP and a changed file reload the configuration. */
export function runCommand(): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .option('--standby', 'wait while another daemon is at work, and take over when it ends')
    .action(async ({ config, standby = false }: ConfigOption & { readonly standby?: boolean }) => {
      const signals = new Signals()
      // A standby waits for months: it starts its processes when it takes over.
      using warm = standby ? undefined : warmProcesses()
      using _ = keepHeapSmall(systemTime)
      const { runDaemon } = await import('../run-daemon.ts')
      await runDaemon(config, signals, warm)
    })
}

/** Collections after which V8 drops compiled code that did not run meanwhile: that of the start does not run again. */
const agedAfter = 7

/** Growth of the heap before it is collected, in percent. */
const growingPercent = 30

/** A process that uses a smaller share of a processor rests. */
const restingShare = 0.1

/**
 * Keeps the memory of a long run close to what it needs. By default V8 lets a heap of 60 MB grow to several hundred if
 * memory is available; this costs a few percent of time. A process that sleeps allocates nothing, so V8 never gives back
 * what the start, or an hour, has used: it is made to, once that is over.
 *
 * @returns ends it when it is disposed of
 */
export function keepHeapSmall(time: Time): Disposable {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`)
  // undici's parser is WebAssembly: to optimise its few functions takes 9 MB, and gains nothing at a push a second.
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  const ending = new AbortController()
  void giveBack(time, ending.signal)
  return { [Symbol.dispose]: () => ending.abort() }
}

async function giveBack(time: Time, ending: AbortSignal): Promise<void> {
  try {
    await restedFor(heapRestMs, time, ending)
    const collect = collector()
    for (let round = 1; round < agedAfter; round += 1) {
      collect()
      await time.sleep(1, ending)
    }
    let keptBytes = 0
    for (;;) {
      if (residentBytes() > keptBytes + heapGrownBytes) {
        collect()
        keptBytes = residentBytes()
      }
      await restedFor(heapLookMs, time, ending)
    }
  } catch (error) {
    if (!ending.aborted) throw error
  }
}

/** Memory of this process; 0 when the system does not say, as where no file descriptor is left. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return 0
  }
}

/**
 * Resolves after an interval at whose end the process rests. In a backfill, or while a backlog drains, it would need the
 * memory again at once, and V8 collects anyway.
 */
async function restedFor(ms: number, time: Time, ending: AbortSignal): Promise<void> {
  for (let isAtRest = false; !isAtRest; ) {
    await time.sleep(ms - heapSampleMs, ending)
    const before = process.cpuUsage()
    await time.sleep(heapSampleMs, ending)
    const { user, system } = process.cpuUsage(before)
    isAtRest = user + system < heapSampleMs * 1_000 * restingShare
  }
}

/** V8's full collection, which gives pages back to the system. Node shows it only to a process started with a flag. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  return () => {
    if (typeof gc === 'function') gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }
}
