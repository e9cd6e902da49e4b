import { type OpenChainReader, OtherHostReader } from '../chain/read/reader.ts'
import type { Chains } from '../chain/reads.ts'
import { collectorsByName, protocolCollectors } from '../config/config.ts'
import { configFolders, hiddenPaths, mayOpen } from '../config/include.ts'
import { HourPipeline } from '../intake/collect-hours.ts'
import { commandClock, type HourClock } from '../intake/hour-clock.ts'
import { type ComparedChain, HourReader } from '../intake/hour-reader.ts'
import type { ListKeeper } from '../model/list-memory.ts'
import { ProcessRunner } from '../runner/daemon/process-runner.ts'
import type { ReadInterceptor } from '../runner/daemon/read-interceptor.ts'
import type { Runner } from '../runner/runner.ts'
import type { AppContext } from './context.ts'

/**
 * Opens a runner without chains: collectors can be loaded and described, offline and without secrets. It leaves its
 * processes to the next runner, if the context keeps them.
 */
export function openOfflineRunner(
  deps: OpenRunnerDeps,
  deadlineMs: number,
  stack: AsyncDisposableStack,
): ProcessRunner {
  return runnerWithin(deadlineMs, {}, deps, stack, true)
}

/** Dependencies of a runner. Without a valid configuration, only the paths known without it are hidden from collectors. */
type OpenRunnerDeps = Pick<AppContext, 'time' | 'clock' | 'log' | 'redactor' | 'warm'> &
  Partial<Pick<AppContext, 'config'>> & {
    readonly interceptor?: ReadInterceptor | undefined
    /** Memory of lists. Default: none, so that they are read from their beginning. */
    readonly lists?: ListKeeper | undefined
  }

/**
 * Opens a runner on chains; it is closed with the stack.
 *
 * @param seen `interceptor` sees what collectors read; default: nothing does
 */
export function runnerOn(
  chains: Chains,
  context: AppContext,
  stack: AsyncDisposableStack,
  seen: Pick<OpenRunnerDeps, 'interceptor' | 'lists'> = {},
): Runner {
  return runnerWithin(context.config.collect.deadlineMs, chains, { ...context, ...seen }, stack)
}

function runnerWithin(
  deadlineMs: number,
  chains: Chains,
  { time, clock, log, redactor, config, warm, interceptor, lists }: OpenRunnerDeps,
  stack: AsyncDisposableStack,
  leavesWarm = false,
): ProcessRunner {
  const runner = new ProcessRunner({
    chains,
    deadlineMs,
    time,
    earliestMs: () => clock?.earliestMs,
    redactor,
    ...(warm && { warm, leavesWarm }),
    ...(interceptor && { interceptor }),
    ...(config && {
      prices: collectorsByName(config.prices),
      lists: collectorsByName(config.lists),
      ...(lists && { listKeeper: lists }),
      hidden: hiddenPaths(config),
      mayOpen: (file, path) => mayOpen(config, file, path),
      configFolders: configFolders(config),
    }),
    log: (collector, level, message, facts) =>
      log[level]({ ...facts, ...(collector !== '' && { collector }) }, message),
  })
  stack.defer(() => runner.stop())
  return runner
}

/** Readers by the name of their chain. */
type Readers = Readonly<Record<string, OpenChainReader>>

interface HourReaderOptions {
  /** Sees what collectors read of the first host. Default: nothing does. */
  readonly interceptor?: ReadInterceptor
  /** Memory of lists, for the first host alone. Default: none, so that they are read from their beginning. */
  readonly lists?: ListKeeper | undefined
}

/**
 * Opens what reads hours; it is closed with the stack. No other host is asked, and no process started for it, before it is
 * needed.
 */
export function openHourReader(
  context: AppContext,
  chains: Readers,
  stack: AsyncDisposableStack,
  { interceptor, lists }: HourReaderOptions = {},
): HourReader {
  const { config, log } = context
  // Processes that are kept for the first runner are not those of the others.
  const { warm, ...coldContext } = context
  const places: Readonly<Record<string, Chains[string]>>[] = [chains]
  const hostsMost = Math.max(1, ...config.chains.map(({ rpc }) => rpc.length))
  const otherHosts = Array.from({ length: hostsMost - 1 }, () => {
    const readers = readersOfOthers(context, chains, places)
    places.push(readers)
    return runnerOn(readers, coldContext, stack)
  })
  const comparedChains = config.chains.flatMap(({ name, rpc, agree = 1 }): ComparedChain[] => {
    const reader = chains[name]
    if (!reader || rpc.length === 1) return []
    return [
      {
        id: reader.id,
        name,
        agree,
        servedBy: (hour, run) => places[run]?.[name]?.servedBy?.(hour),
        quarantine: (...wrong) => reader.quarantine(...wrong),
        forget: hour => {
          for (const readers of places) readers[name]?.forget?.(hour)
        },
      },
    ]
  })
  return new HourReader({
    runner: runnerOn(chains, context, stack, { interceptor, lists }),
    otherHosts,
    chains: comparedChains,
    clock: clockOf(context),
    log,
    configured: protocolCollectors(config),
  })
}

/** Opens the pipeline of hours; it is closed with the stack. @param lists memory of lists. Default: none */
export function openPipeline(
  context: AppContext,
  chains: Readers,
  stack: AsyncDisposableStack,
  lists?: ListKeeper,
): HourPipeline {
  const { config, time, log } = context
  const reader = openHourReader(context, chains, stack, { lists })
  return new HourPipeline({ reader, clock: clockOf(context), chains: config.chains, time, log })
}

/** A daemon works by the clock that is compared with others. A command compares it once, before it begins. */
function clockOf({ clock, time }: Pick<AppContext, 'clock' | 'time'>): HourClock {
  return clock && time === clock ? clock : commandClock(time, clock)
}

/** Readers of the endpoints of other hosts than those before; a chain with one endpoint is read from that. */
function readersOfOthers({ config }: AppContext, chains: Readers, previousReaders: readonly Chains[]): Chains {
  return Object.fromEntries(
    config.chains.flatMap(({ name, rpc }) => {
      const chainReader = chains[name]
      if (!chainReader) return []
      const reader =
        rpc.length > 1
          ? new OtherHostReader(
              name,
              chainReader,
              previousReaders.flatMap(one => one[name] ?? []),
            )
          : chainReader
      return [[name, reader] as const]
    }),
  )
}
