import type { Chains } from '../chain/reads.ts'
import type { CollectorConfig, Config } from '../config/config.ts'
import { configFolders, hiddenPaths } from '../config/include.ts'
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
type OpenRunnerDeps = Pick<AppContext, 'time' | 'log' | 'redactor' | 'warm'> &
  Partial<Pick<AppContext, 'config'>> & {
    readonly interceptor?: ReadInterceptor | undefined
  }

/**
 * Opens a runner on chains; it is closed with the stack.
 *
 * @param interceptor sees what collectors read. Default: nothing does
 */
export function runnerOn(
  chains: Chains,
  context: AppContext,
  stack: AsyncDisposableStack,
  interceptor?: ReadInterceptor,
): Runner {
  return runnerWithin(context.config.collect.deadlineMs, chains, { ...context, interceptor }, stack)
}

function pricesByName({ prices }: Config): Readonly<Record<string, CollectorConfig>> {
  return Object.fromEntries(prices.map(({ name, collector }) => [name, collector]))
}

function runnerWithin(
  deadlineMs: number,
  chains: Chains,
  { time, log, redactor, config, warm, interceptor }: OpenRunnerDeps,
  stack: AsyncDisposableStack,
  leavesWarm = false,
): ProcessRunner {
  const runner = new ProcessRunner({
    chains,
    deadlineMs,
    time,
    redactor,
    ...(warm && { warm, leavesWarm }),
    ...(interceptor && { interceptor }),
    ...(config && {
      prices: pricesByName(config),
      hidden: hiddenPaths(config),
      configFolders: configFolders(config),
    }),
    log: (collector, level, message, facts) => log[level]({ ...facts, collector }, message),
  })
  stack.defer(() => runner.stop())
  return runner
}
