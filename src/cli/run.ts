import type { Command } from 'commander'
import { type Daemon, type Surroundings, startDaemon } from '../app.ts'
import { ConfigError, formatMistakes } from '../config/mistakes.ts'
import { checkCollectors } from './check.ts'
import { type ConfigOption, configuredCommand, setUp } from './setting.ts'
import { Signals } from './signals.ts'

/** `run`: the daemon. Ends with 0 after SIGTERM or SIGINT; SIGHUP reads the configuration again. */
export function runCommand(): Command {
  return configuredCommand('run')
    .description('the daemon: collects every full hour and delivers')
    .action(async ({ config }: ConfigOption) => {
      const signals = new Signals()
      const surroundings = setUp(config, ({ log }) => log.level)
      await checkOptions(surroundings)
      await keepRunning(surroundings, config, signals)
    })
}

async function keepRunning(first: Surroundings, file: string, signals: Signals): Promise<void> {
  let surroundings = first
  for (let daemon = await start(surroundings); ; daemon = await start(surroundings)) {
    const next = await untilChanged(surroundings, file, signals)
    surroundings.log.info('stopping')
    await daemon.stop()
    if (!next) {
      surroundings.log.info('stopped')
      return
    }
    surroundings = next
  }
}

async function start(surroundings: Surroundings): Promise<Daemon> {
  const daemon = await startDaemon(surroundings)
  const { statusUrl, serviceHost } = daemon
  surroundings.log.info({ page: `${statusUrl}/`, service: serviceHost, config: surroundings.config.file }, 'running')
  return daemon
}

/** Resolves to the new configuration after a reload that is in order, to `undefined` when the daemon is to stop. */
async function untilChanged({ log }: Surroundings, file: string, signals: Signals): Promise<Surroundings | undefined> {
  for (;;) {
    if ((await signals.next()) === 'stop') return undefined
    try {
      const next = setUp(file, config => config.log.level)
      await checkOptions(next)
      return next
    } catch (error) {
      const mistakes = error instanceof ConfigError ? formatMistakes(error.mistakes) : String(error)
      log.error({ mistakes }, 'the new configuration is refused, the old one stays in force')
    }
  }
}

/** A mistake in a collector's options is one of the configuration; a collector that cannot be loaded stops no other. */
async function checkOptions(surroundings: Surroundings): Promise<void> {
  const { mistakes, unusable } = await checkCollectors(surroundings)
  if (mistakes.length > 0) throw new ConfigError(surroundings.config.file, mistakes)
  for (const { collector, fault } of unusable) {
    surroundings.log.error(
      { collector: collector.id, reason: fault.message, fix: fault.fix },
      'collector cannot be loaded',
    )
  }
}
