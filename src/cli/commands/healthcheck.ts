import type { Command } from 'commander'
import { loadConfig } from '../../config/load.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { daemonAnswer } from '../daemon-answer.ts'
import { exitCodes } from '../exit.ts'
import { print } from '../terminal.ts'

/**
 * `healthcheck`: asks the running daemon's readiness, for alerts. Ends with 0 or 1.
 *
 * With `--live` it only asks whether the daemon answers, for an orchestrator: a service that is down is no reason to
 * restart the daemon that waits for it.
 */
export function healthcheckCommand(ended: (code: number) => void): Command {
  return configuredCommand('healthcheck')
    .description('is the running daemon ready?')
    .option('--live', 'only whether it lives, for the health check of a container')
    .action(async ({ config, live }: ConfigOption & { live?: true }) => {
      const loaded = loadConfig(config)
      if (live) {
        const { ok } = await daemonAnswer(loaded, '/livez')
        print(ok ? 'live' : 'not live: something else answers there')
        if (!ok) ended(exitCodes.incomplete)
        return
      }
      const { ready, reasons } = (await (await daemonAnswer(loaded, '/readyz')).json()) as Ready
      print(ready ? 'ready' : `not ready: ${reasons.join('; ')}`)
      if (!ready) ended(exitCodes.incomplete)
    })
}

interface Ready {
  readonly ready: boolean
  readonly reasons: readonly string[]
}
